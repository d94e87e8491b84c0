package rehearsal

import (
	"slices"
	"strings"

	"lethe/compactor/recall/text"
	"lethe/internal/pattern"
	"lethe/mind"
)

var (
	refRE  = pattern.Lazy(`◱hash=([0-9a-f]{8,64}) gist=([^◲\n]*)◲`)
	hintRE = pattern.Lazy(`(?m)^◱?hash=([0-9a-f]{8,64}) `)
	keepRE = pattern.Lazy(`(?i)^(?:i will )?remember(?: that|:| )+`)
)

// plainRefs puts refs into words, for text that goes out.
func plainRefs(text string) string {
	text = refRE().ReplaceAllString(text, "[$1: $2]")
	return strings.NewReplacer("◱", "", "◲", "", "◳", "", "◆", "").Replace(text)
}

// A find is the sentence that has most of the words of a question, and of equals the newest whose speaker is known.
type find struct {
	asked []string
	has   int // of the words
	line      // whose it is
}

// recall answers a question: by what is to be seen, opened originals too, or else by those that a hint names.
func (t *turn) recall(m []string) string {
	f := &find{asked: stemsOf(m[0])}
	if len(f.asked) == 0 {
		return unknown(m[0])
	}
	hints := ""
	for i, e := range t.entries {
		if e.Kind == "" {
			f.look(linesOf(e)...)
		} else if e.Kind == mind.Hint && i >= t.start {
			hints += e.Text
		}
		for _, c := range e.Calls {
			if c.Tool == "UNCOMPACT" {
				f.look(linesOf(&mind.Entry{Text: c.Text})...)
			}
		}
	}
	f.look(t.heard[:t.now]...)
	for _, ref := range hintRE().FindAllStringSubmatch(hints, -1) {
		if !f.sure() && slices.Contains(t.req.Tools, "UNCOMPACT") {
			const why = "This may have to do with it. I open the original."
			t.do(why, "UNCOMPACT", map[string]string{"hash": ref[1], "limit": "100000"}) // to be looked at then
		}
	}
	text := "“" + clip(plainRefs(f.text), 400) + "”"
	switch {
	case !f.sure():
		return "I do not know. Nothing that I can see says so."
	case f.who == t.heard[t.now].who:
		return "You said: " + text
	case f.who != "":
		return f.who + " said: " + text
	}
	return "What I have is: " + text
}

// sure reports whether a sentence has enough of the words to be the answer.
func (f *find) sure() bool { return 2*f.has >= len(f.asked) }

// look looks at what was said. Questions state nothing, and what is cut off not enough.
func (f *find) look(lines ...line) {
	for _, l := range lines {
		for _, s := range strings.Split(strings.ReplaceAll(l.text, ". ", ".\n"), "\n") {
			l.text = keepRE().ReplaceAllString(strings.Trim(s, "-* \t"), "")
			said, n := stemsOf(l.text), 0
			for _, w := range f.asked {
				if slices.Contains(said, w) {
					n++
				}
			}
			isKnown := l.who != "" || f.who == ""
			breaksTie := n == f.has && isKnown
			better := n > f.has || breaksTie
			statesLittle := strings.HasSuffix(s, "?") || strings.Contains(s, "…")
			if n == 0 || statesLittle {
				continue
			}
			if better {
				f.has, f.line = n, l
			}
		}
	}
}

// stemsOf returns the stems of the words that matter.
func stemsOf(s string) (out []string) {
	stems := text.Stems{}
	for t := range text.Tokens(s) {
		if t.Kind != text.Part && !t.Stop() {
			out = append(out, stems.Term(t))
		}
	}
	return out
}
