package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxEdit bounds the files that EDIT_FILE takes into memory, in bytes.
const maxEdit = 16 << 20

type editArgs struct {
	Path  string `json:"path"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new"`
	Lines string `json:"lines,omitempty" about:"12-14"`
	Hash  string `json:"hash,omitempty" about:"of these or more: 1-60:3fa9c2"`
}

func (s *Set) edit(a editArgs) (Effect, error) {
	switch {
	case (a.Old == "") == (a.Lines == ""):
		return nil, errors.New("give old, the exact text to replace, or lines with their hash; WRITE_FILE makes a new file")
	case a.Lines == "" && a.Old == a.New:
		return nil, errors.New("old and new are the same: there is nothing to change")
	}
	p, err := s.resolve(a.Path)
	if err != nil {
		return nil, err
	}
	if p.readOnly != "" {
		return nil, fmt.Errorf("edit %s: refused: %s", p.shown, p.readOnly)
	}
	text, err := p.load()
	if err != nil {
		return nil, err
	}
	was := s.versionOf(p, []byte(text))
	var edited, at string
	if a.Lines != "" {
		edited, at, err = a.onLines(text)
	} else {
		edited, at, err = substitute(text, a.Old, a.New)
	}
	change := s.changeOf(p, was, edited, at)
	if err != nil { // it is said when it runs, unless the file is another one than the model has seen
		change.Run = func(context.Context, Call) Result { return failf("edit %s: %v", p.shown, err) }
	}
	return change, nil
}

func (p place) load() (string, error) {
	b, err := p.read(maxEdit)
	if err != nil {
		return "", err
	}
	if len(b) > maxEdit {
		return "", fmt.Errorf("load %s: it has more than %s. Use BASH with sed or a script", p.shown, sizeText(maxEdit))
	}
	if isBinary(b[:min(len(b), sniffed)]) {
		return "", fmt.Errorf("load %s: it is a binary file. Use BASH with a program that knows its format", p.shown)
	}
	return string(b), nil
}

// substitute replaces the only occurrence of old in text and returns the line,
// counted from 1, at which it begins. Its errors help to find the text that was
// meant.
func substitute(text, old, new string) (edited, line string, err error) {
	mayMeanCRLF := strings.Contains(text, "\r\n") && !strings.Contains(old, "\r")
	if mayMeanCRLF && !strings.Contains(text, old) {
		// Models write \n. In a file with \r\n they mean that.
		old, new = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n")
	}
	lines := occurrences(text, old)
	switch len(lines) {
	case 0:
		return "", "", notFound(text, old)
	case 1:
		return strings.Replace(text, old, new, 1), fmt.Sprint(lines[0]), nil
	}
	at := strings.ReplaceAll(strings.Trim(fmt.Sprint(lines[:min(len(lines), listedLines)]), "[]"), " ", ", ")
	if len(lines) > listedLines {
		at += ", …"
	}
	return "", "", fmt.Errorf("old occurs %d times, at lines %s. Add lines before or after it until it is "+
		"unique, and edit the others in calls of their own", max(len(lines), strings.Count(text, old)), at)
}

// listedLines bounds the places that are named if a text occurs more than once.
const listedLines = 10

// occurrences returns the lines of the first places of old in text, one more than are
// listed. Overlapping ones count, since each is a place that could be meant.
func occurrences(text, old string) (lines []int) {
	for at, line := 0, 1; len(lines) <= listedLines; at++ {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		line += strings.Count(text[max(at-1, 0):at+i], "\n")
		at += i
		lines = append(lines, line)
	}
	return lines
}

// notFound names the line in text that is most like the longest line of old.
func notFound(text, old string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("old was not found: the file is empty. Use WRITE_FILE")
	}
	if strings.Contains(norm.NFC.String(text), norm.NFC.String(old)) {
		return errors.New("old was not found: the file has it in another Unicode normal form, in which an accent is a " +
			"character of its own, or is none. BASH can replace it, or READ_FILE and WRITE_FILE the whole file")
	}
	bare := func(text string) []string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = joined(line)
		}
		return lines
	}
	longest := slices.MaxFunc(bare(old), func(a, b string) int { return len(a) - len(b) })
	at := nearest(longest, bare(text))
	return fmt.Errorf("old was not found. The most similar line is %d:\n%s\nREAD_FILE with offset %d shows "+
		"what is around it. old must match exactly, white space included",
		at+1, clip(strings.Split(text, "\n")[at], 500), max(1, at-4))
}
