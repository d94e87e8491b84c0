package style

import (
	"fmt"
	"slices"
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

// Tells stands in the line above a part of a page, before the lines and bytes of text that readers do not see.
const (
	Tells   = "; a reader of the page does not see text at line "
	maxTold = 200 // bytes behind which all that follows is told as one
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

// Hidden tells behind Tells where a page that is shown from a byte of a line on has text that its readers do not see:
// lines, and their bytes as shown, like "4:21-60, 7:3-15, 9:1-", which ends with all that follows; "" where it has none.
func Hidden(text string, from, column int) string {
	told := ""
	for n, line := range strings.Split("\n"+Mask(text), "\n") {
		if n == max(from, 1) {
			line = line[min(max(column-1, 0), len(line)):]
		}
		for rest := line; n >= from && strings.IndexByte(rest, Unseen) >= 0; {
			_, rest, _ = strings.Cut(rest, "\x01")
			told += fmt.Sprintf(", %d:%d-", n, len(line)-len(rest))
			if len(told) > maxTold {
				return strings.Replace(told, ", ", Tells, 1)
			}
			rest = strings.TrimLeft(rest, "\x00\x01 ")
			told += fmt.Sprint(len(line) - len(rest))
		}
	}
	return strings.Replace(told, ", ", Tells, 1)
}

// MaskTold blanks what the line above a part of a page tells to be hidden: there Mask lacks the page's sheet.
func MaskTold(text string) string {
	masked, lines, first := []byte(text), strings.SplitAfter(text, "\n"), 0
	head := lines[0][strings.LastIndex(lines[0], ": lines ")+1:] // behind the name
	before, told, _ := strings.Cut(head, Tells)
	isWhole := !strings.Contains(before, "; ") && !strings.Contains(text, "…[line ")
	fmt.Sscanf(before, " lines %d", &first)
	for _, one := range strings.Split(told, ", ") {
		n, from, to := 0, uint32(1), uint32(0)
		fmt.Sscanf(one, "%d:%d-%d", &n, &from, &to)
		row := n - first + 1
		if isWhole || row < 1 || row >= len(lines) {
			continue
		}
		begin := len(strings.Join(lines[:row], ""))
		end := begin + len(lines[row])
		begin, end = min(begin+int(from)-1, end), min(begin+int(to), end)
		if to < from {
			end = len(text)
		}
		mark(masked[begin:end], "")
	}
	return string(masked)
}
