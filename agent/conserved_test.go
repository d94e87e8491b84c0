package agent

import (
	"bytes"
	"fmt"
	"strings"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// chained checks that from the newest blob each one's parent can be read, down to
// the boot blob, and that LIFE names all of them.
func (w *world) chained(id home.Identity) {
	w.Helper()
	named := map[blobs.Hash]bool{}
	for _, e := range w.life(id) {
		for _, r := range e.Refs {
			h, err := w.store.Resolve(r.Hash)
			lethetest.Must(w, err)
			named[h] = true
		}
		want := map[string]int{mind.Summary: 2, mind.Gist: 1, mind.Card: 1}[e.Get("to")]
		if e.Kind == "fade" && len(e.Refs) != want {
			w.Errorf("%s to=%s names %d blobs", e.Arg(0), e.Get("to"), len(e.Refs))
		}
	}
	for h := w.fold(id).LastBlob; h.String() != id.Self; {
		if !named[h] {
			w.Errorf("LIFE does not name %s, which is in its chain", h)
		}
		b, err := w.store.Get(h)
		if err != nil || b.Parent.IsZero() {
			w.Errorf("the chain of blobs ends at %s: %v", h, err)
			return
		}
		h = b.Parent
	}
}

// conserved checks that each entry is live or in exactly one faded range, that
// what each said can be read by following refs, and returns how many refs that
// takes at most, and how many ranges there are.
func (w *world) conserved(id home.Identity) (refs, ranges int) {
	w.Helper()
	w.chained(id)
	s := w.fold(id)
	texts := map[int]string{}
	claim := func(n int, text string) {
		if _, twice := texts[n]; twice {
			w.Errorf("e%d is in two places", n)
		}
		texts[n] = text
	}
	for _, e := range s.Live {
		claim(e.N, e.Original(w.bodyOf))
	}
	for _, r := range s.Faded {
		refs = max(refs, w.open(r.From, r.To, r.Original.Short, r.Level == mind.Card, claim))
	}
	for n := 1; n < s.Next; n++ {
		if _, there := texts[n]; !there {
			w.Errorf("e%d is neither live nor faded", n)
		}
	}
	for _, e := range w.life(id) {
		n, _, err := mind.ParseID(e.Arg(0))
		if err != nil || len(e.Refs) == 0 {
			continue
		}
		body, has := w.body(e, 0), texts[n]
		var wants []string
		switch e.Kind {
		case mind.Inbound:
			for raw := range strings.Lines(body) {
				torn := strings.HasPrefix(raw, "[AGENT:"+id.Name+" ") // its own post, cut off: nobody's message
				if l := chat.Parse([]byte(raw)); !l.Agent && !l.Blank() && !torn {
					first, _, _ := strings.Cut(l.Text, "\n") // the next line would be shown on a line of its own
					wants = append(wants, blobs.Escape(first))
				}
			}
		case "result", mind.Note, mind.Hint, "joined":
			wants = []string{blobs.Escape(body)}
		case mind.Reply:
			a, err := mind.DecodeAnswer([]byte(body))
			lethetest.Must(w, err)
			wants = []string{blobs.Escape(blobs.Unescape(a.Text))}
			has = strings.ReplaceAll(has, "\n\\<", "\n<") // a line that looks like the end of the reasoning is guarded
		}
		for _, want := range wants {
			if !strings.Contains(has, want) {
				w.Errorf("what e%d holds cannot be reached: %d bytes, %.60q, in %.200q", n, len(want), want, has)
			}
		}
	}
	return refs, len(s.Faded)
}

// open follows one ref down to the originals, and hands the text of each entry
// to claim. A range that is what is left of another one has the original of that.
func (w *world) open(from, to int, short string, card bool, claim func(int, string)) (refs int) {
	w.Helper()
	body := w.original(short)
	list := mind.ReadCard([]byte(body))
	if card && len(list) > 0 {
		at := from
		for _, l := range list {
			if l.To < from || l.From > to {
				continue
			}
			if max(l.From, from) != at {
				w.Errorf("a card of e%d..e%d goes on with e%d after e%d", from, to, l.From, at-1)
			}
			inner := []byte(w.original(l.Ref.Hash))
			isCard := bytes.HasPrefix(inner, []byte(fmt.Sprint(len(mind.ReadCard(inner)), " parts")))
			refs = max(refs, 1+w.open(at, min(l.To, to), l.Ref.Hash, isCard, claim))
			at = l.To + 1
		}
		if at <= to {
			w.Errorf("a card of e%d..e%d ends with e%d", from, to, at-1)
		}
		return refs
	}
	_, body, _ = strings.Cut("\n"+body, fmt.Sprintf("\n◆ e%d ", from))
	for n := from; n <= to; n++ {
		text, rest, more := strings.Cut(body, fmt.Sprintf("\n◆ e%d ", n+1))
		if body == "" || n < to && !more {
			w.Errorf("the original of e%d..e%d has no e%d, or not e%d behind it", from, to, n, n+1)
			return 1
		}
		claim(n, text)
		body = rest
	}
	return 1
}
