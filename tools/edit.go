package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// maxEdit bounds the files that EDIT_FILE takes into memory, in bytes.
const maxEdit = 16 << 20

func (f *files) edit(_ context.Context, c Call) Result {
	var a struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
	}
	if err := Decode(c.Args, &a); err != nil {
		return failure(err)
	}
	switch {
	case a.Old == "":
		return failf("old is empty: give the exact text to replace, or use WRITE_FILE for a new file")
	case a.Old == a.New:
		return failf("old and new are the same: there is nothing to change")
	}
	p, err := f.resolve(a.Path)
	if err != nil {
		return failure(err)
	}
	if p.readOnly != "" {
		return failf("edit %s: refused: %s", p.shown, p.readOnly)
	}
	text, err := p.load()
	if err != nil {
		return failure(err)
	}
	edited, line, err := substitute(text, a.Old, a.New)
	if err != nil {
		return failf("edit %s: %v", p.shown, err)
	}
	if _, err := p.replace([]byte(edited)); err != nil {
		return failure(err)
	}
	r := textf("edited %s at line %d: %d lines became %d%s", p.shown, line, lineCount(a.Old), lineCount(a.New), p.warning(edited))
	r.Touched = p.own
	return r
}

func (p place) load() (string, error) {
	file, fi, err := p.open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	if fi.Size() > maxEdit {
		return "", fmt.Errorf("edit %s: it has %s and EDIT_FILE takes at most %s. Use BASH with sed or a script", p.shown, sizeText(fi.Size()), sizeText(maxEdit))
	}
	// A file can grow after it was measured.
	b, err := io.ReadAll(io.LimitReader(file, maxEdit+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", p.shown, err)
	}
	if len(b) > maxEdit {
		return "", fmt.Errorf("edit %s: it grows while it is read. Try again when nothing writes to it", p.shown)
	}
	if isBinary(b[:min(len(b), sniffed)]) {
		return "", fmt.Errorf("edit %s: it is a binary file. Use BASH with a program that knows its format", p.shown)
	}
	return string(b), nil
}

// substitute replaces the only occurrence of old in text and returns the line,
// counted from 1, at which it begins. Its errors help to find the text that was
// meant.
func substitute(text, old, new string) (edited string, line int, err error) {
	if !strings.Contains(text, old) && strings.Contains(text, "\r\n") && !strings.Contains(old, "\r") {
		// Models write \n. In a file with \r\n they mean that.
		old, new = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n")
	}
	switch lines, n := occurrences(text, old); n {
	case 0:
		return "", 0, notFound(text, old)
	case 1:
		return strings.Replace(text, old, new, 1), lines[0], nil
	default:
		at := strings.ReplaceAll(strings.Trim(fmt.Sprint(lines), "[]"), " ", ", ")
		if n > len(lines) {
			at += ", …"
		}
		return "", 0, fmt.Errorf("old occurs %d times, at lines %s. Add lines before or after it until it is unique, and edit the others in calls of their own", n, at)
	}
}

// occurrences counts old in text, overlapping ones included, since each is a
// place that could be meant. It returns the lines of the first ten.
func occurrences(text, old string) (lines []int, n int) {
	at, line := 0, 1
	for {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return lines, n
		}
		line += strings.Count(text[at:at+i], "\n")
		n++
		if len(lines) < 10 {
			lines = append(lines, line)
		}
		if text[at+i] == '\n' {
			line++
		}
		at += i + 1
	}
}

// notFound describes the place in text that is most like old.
func notFound(text, old string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("old was not found: the file is empty. Use WRITE_FILE")
	}
	have, want := strings.Split(text, "\n"), strings.Split(strings.Trim(old, "\n"), "\n")
	if at, ok := looseMatch(have, want); ok {
		exact := strings.Join(have[at:at+len(want)], "\n")
		return fmt.Errorf("old was not found, but lines %d-%d differ from it only in white space. They are exactly:\n%s", at+1, at+len(want), clip(exact, 4000))
	}
	at := similarLine(have, want)
	return fmt.Errorf("old was not found. The most similar line is %d:\n%s\nREAD_FILE with offset %d shows what is around it. old must match exactly, white space included", at+1, clip(have[at], 500), max(1, at-4))
}

// looseMatch finds want in have with the white space of each line ignored.
func looseMatch(have, want []string) (int, bool) {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	wanted := make([]string, len(want))
	blank := true
	for i, w := range want {
		wanted[i] = squeeze(w)
		blank = blank && wanted[i] == ""
	}
	if blank {
		return 0, false
	}
next:
	for at := range len(have) - len(want) + 1 {
		for i, w := range wanted {
			if squeeze(have[at+i]) != w {
				continue next
			}
		}
		return at, true
	}
	return 0, false
}

// similarLine is the line of have that shares most with the longest line of
// want, by pairs of adjacent bytes: linear in the file, unlike edit distance.
func similarLine(have, want []string) int {
	longest := want[0]
	for _, w := range want {
		if len(strings.TrimSpace(w)) > len(strings.TrimSpace(longest)) {
			longest = w
		}
	}
	target := pairs(longest)
	best, most := 0, -1.0
	for i, h := range have {
		p := pairs(h)
		shared := 0
		for pair := range p {
			if target[pair] {
				shared++
			}
		}
		if score := 2 * float64(shared) / float64(len(p)+len(target)+1); score > most {
			best, most = i, score
		}
	}
	return best
}

func pairs(s string) map[[2]byte]bool {
	b := bytes.ToLower([]byte(clip(strings.TrimSpace(s), 2000)))
	m := make(map[[2]byte]bool, len(b))
	for i := range len(b) - 1 {
		m[[2]byte{b[i], b[i+1]}] = true
	}
	return m
}
