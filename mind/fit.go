package mind

import "unicode/utf8"

// Heard renders the bytes of a room as an inbound entry shows them, whole.
func Heard(body []byte, own []Span) string { return lines(body, own) }

// Fit returns how much of a rendered text may be shown, as Entry.Show and
// Call.Show take it: so many runes that the clipped text, with the mark that
// names what is missing, weighs no more than most, and at most runes of them.
// It is 0 when all of the text may be shown, or when the mark would weigh as much
// as what it stands for. So a small most cannot always be met.
func Fit(text string, ref Ref, runes, most int, weigh func(string) int) int {
	n, whole := utf8.RuneCountInString(text), weigh(text)
	if n <= runes && whole <= most || whole <= weigh(clip(text, 1, ref)) {
		return 0
	}
	for show := min(n-1, runes, max(1, most)); ; {
		has := weigh(clip(text, show, ref))
		if has <= most || show <= 1 {
			return max(1, show)
		}
		show = min(show-1, int(int64(show)*int64(max(0, most))/int64(has)))
	}
}
