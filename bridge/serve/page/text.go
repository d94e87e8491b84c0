package page

import (
	"fmt"
	"unicode/utf8"

	"lethe/bridge/report"
	"lethe/chat"
)

// count writes a number of tokens or bytes as people say it: 950, 1.2k, 18k, 1.2M.
func count[N int | int64 | float64](n N) string {
	switch v := float64(n); {
	case v < 1000:
		return fmt.Sprintf("%.0f", v)
	case v < 9950:
		return fmt.Sprintf("%.1fk", v/1000)
	case v < 999_500:
		return fmt.Sprintf("%.0fk", v/1000)
	default:
		return fmt.Sprintf("%.1fM", v/1e6)
	}
}

func dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// gist is a line of a room in few words: a question or an answer without its id, files without their hashes.
func gist(s *report.Said) string {
	_, text := chat.Cited(s.Text)
	if q, ok := chat.ParseQuestion(s.Text); ok && s.Agent {
		text = q.Text
	}
	return short(160, unhashed(text))
}

// short cuts a text to at most n bytes, between runes.
func short(n int, s string) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
