package style

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lethe/internal/pattern"
)

var (
	// tag matches a comment or a tag.
	tag = pattern.Lazy(`(?i)<!--(?s:.*?)(?:-->|\z)|<(/?)(!doctype|[a-z][a-z0-9-]*)` +
		`((?:[\s/](?:"[^"]*"|'[^']*'|[^<>"'])*|[\s/][^<>]*)?)(?:>|\z)`)
	attribute = pattern.Lazy(`(?i)(?:^|[\s/])(class|id|style|hidden|aria-hidden)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?`)
	sheets    = pattern.Lazy(`(?is)<style\b[^>]*>(.*?)(?:</style|\z)`)
	page      = pattern.Lazy(`(?i)<(?:!doctype|html|body)\b`)
)

var (
	// known are the elements whose tags are markup wherever they stand: a type of a program is none.
	known = strings.Fields("!doctype html head meta link title body main section article header footer nav aside div span p a b i u s " +
		"em strong small code pre br hr img h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tr td th form input button label " +
		"select option iframe svg path noscript template script style")
	unread = strings.Fields("script style template")
	void   = strings.Fields("!doctype meta link br hr img input path") // they hold no text
	// lax elements end where the next one of their kind begins, if not before.
	lax = strings.Fields("p li dt dd tr td th option")
)

// What Mask puts in the place of bytes that nobody reads.
const (
	Markup = 0
	Unseen = 1 // text that an element hides, with the tags in it
)

// Tells stands in the line above a part of a page, before the numbers of lines with text that readers do not see.
const (
	Tells = "; a reader of the page does not see text at line "
	Told  = 10 // lines at most, and how many more there are
)

// Mask marks in a text the markup of a page, and what no reader of the page sees; all else stays where it is, as blanks
// and ends of lines do. Where there is but a part of a page, such as lines that GREP found, what a line hides ends with
// it.
func Mask(text string) string {
	tags := tag().FindAllStringSubmatchIndex(text, -1)
	if tags == nil {
		return text
	}
	sheet, masked, isPage := Sheet{}, []byte(text), page().MatchString(text)
	for _, found := range sheets().FindAllStringSubmatch(text, -1) {
		sheet.Read(found[1])
	}
	hiding, depth, from := "", 0, 0
	for _, at := range append(tags, []int{len(text), len(text), -1}) {
		if line := strings.IndexByte(text[from:at[0]], '\n'); hiding != "" && !isPage && line >= 0 {
			mark(masked[from:from+line], hiding)
			hiding, depth = "", 0
		} else if hiding != "" {
			mark(masked[from:at[0]], hiding)
		}
		from = at[1]
		if at[2] < 0 {
			mark(masked[at[0]:at[1]], "") // a comment
			continue
		}
		name, ends := strings.ToLower(text[at[4]:at[5]]), at[2] < at[3]
		isMarkup := hiding != "" || slices.Contains(known, name)
		switch {
		case hiding == name && (ends || slices.Contains(lax, name)):
			depth--
		case hiding == name:
			depth++
		}
		if depth == 0 {
			hiding = ""
		}
		within := hiding
		mayHide := hiding == "" && !ends && !slices.Contains(void, name)
		if mayHide && hides(sheet, name, text[at[6]:at[7]]) {
			hiding, depth, isMarkup = name, 1, true
		}
		if isMarkup {
			mark(masked[at[0]:at[1]], within)
		}
	}
	return string(masked)
}

// mark marks a part of a page, in the element that hides it.
func mark(masked []byte, hiding string) {
	with := byte(Unseen)
	if hiding == "" || slices.Contains(unread, hiding) {
		with = Markup
	}
	for i, letter := range masked {
		if letter != '\n' && letter != ' ' {
			masked[i] = with
		}
	}
}

// hides reports whether nobody sees the text of an element with these attributes.
func hides(sheet Sheet, name, attributes string) bool {
	values := map[string]string{}
	for _, found := range attribute().FindAllStringSubmatch(attributes, -1) {
		values[strings.ToLower(found[1])] = strings.Trim(found[2], "\"'")
		if strings.EqualFold(found[1], "hidden") {
			return true
		}
	}
	return slices.Contains(unread, name) || values["aria-hidden"] == "true" ||
		sheet.Of(name, values["class"], values["id"], values["style"]).Hides()
}

// Hidden returns the lines of a page, from one on, with text that its readers do not see.
func Hidden(text string, from int) (lines []string) {
	n := 0
	for line := range strings.Lines(Mask(text)) {
		if n++; n >= from && strings.IndexByte(line, Unseen) >= 0 {
			lines = append(lines, strconv.Itoa(n))
		}
	}
	return lines
}

// MaskTold blanks the lines of a part of a page that the line above them tells of: there Mask lacks the page's sheet.
// Behind the tenth it blanks all if there are more, which are not told.
func MaskTold(text string) string {
	lines := strings.SplitAfter(text, "\n")
	where, told, _ := strings.Cut(lines[0], Tells)
	hidden := strings.Split(strings.TrimRight(told, "]\n"), ", ")
	parts, n, past := strings.Split(where, "; hash "), 0, false
	fmt.Sscan(parts[len(parts)-1], &n)
	for i, line := range lines[1:] {
		at := slices.Index(hidden, strconv.Itoa(n+i))
		if isHidden := at >= 0 || past; isHidden && n > 0 {
			shown := strings.TrimRight(line, "\n")
			lines[i+1] = strings.Repeat(" ", len(shown)) + line[len(shown):]
			past = past || at == Told-1 && len(hidden) > Told
		}
	}
	return strings.Join(lines, "")
}
