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

// Contents lists what an original holds, a line for each entry and call: at which character it
// begins, what it is, and its first words. said is when; empty where no line has a time.
func Contents(body string) (list []string, said string) {
	at, runes := 0, 0
	for s := range text.Sections(body) {
		for l := range s.Lines(body) {
			if l.Thought || s.Kind == "result" {
				continue
			}
			runes += utf8.RuneCountInString(body[at:l.From])
			at = l.From
			what, words := s.Kind, []rune(blobs.Unescape(l.Text))
			if l.Message != nil {
				what = blobs.Unescape(l.Speaker) + ":"
			} else if s.Kind == "call" {
				what = s.Tool
			}
			if len(words) > contentsRunes {
				words = append(words[:contentsRunes-1], '…')
			}
			list = append(list, fmt.Sprintf("%d e%d %s %s", runes, s.Entry, what, string(words)))
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
