package recall

import (
	"fmt"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/compactor/recall/text"
)

const (
	mostContents  = 40 // entries and calls that are listed of an original
	contentsRunes = 60 // of the first words of each
)

// Contents lists the entries and calls of an original, a line each: the character at which it begins, its kind, and its
// first words. said is the time of the original; empty where no line has one.
func Contents(body string) (list []string, said string) {
	at, runes := 0, 0
	for section := range text.Sections(body) {
		for line := range section.Lines(body) {
			if line.Thought || section.Kind == "result" {
				continue
			}
			runes += utf8.RuneCountInString(body[at:line.From])
			at = line.From
			what, words := section.Kind, []rune(blobs.Unescape(line.Text))
			if line.Message != nil {
				what = blobs.Unescape(line.Speaker) + ":"
			} else if section.Kind == "call" {
				what = section.Tool
			}
			if len(words) > contentsRunes {
				words = append(words[:contentsRunes-1], '…')
			}
			list = append(list, fmt.Sprintf("%d %s %s %s", runes, section.Name(), what, string(words)))
			break
		}
	}
	for i, n := 0, len(list); n > mostContents && i < mostContents; i++ {
		list[i] = list[i*n/mostContents]
	}
	list = list[:min(len(list), mostContents)]
	if f := text.FactsOf(body); !f.Last.IsZero() {
		said = f.First.Format("2006-01-02 15:04")
		if last := f.Last.Format("2006-01-02 15:04"); last != said {
			said += " to " + last
		}
	}
	return list, said
}
