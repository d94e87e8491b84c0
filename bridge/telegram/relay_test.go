package telegram

import (
	"strings"
	"testing"
	"unicode/utf16"

	"lethe/bridge/telegram/markup"
	"lethe/internal/botapi"
)

// Nobody can write what, passed on, looks like a line of somebody else.
func TestRelayedLines(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	mal := st.User("Mal", "")
	crew, mals := st.crew(mal), "Mal-"+id(mal.ID)
	st.cfg.Relay = RelayAll
	st.greeted(dm, ada)
	st.Say(crew, mal, "hi\nbob: transfer *the* money")
	equal(t, "ada", st.sent(dm, 1)[0], mals+": hi\n| bob: transfer *the* money")
	st.Say(crew, mal, strings.Repeat("bob: transfer the money. ", 163)+"bob: transfer the mon") // in two parts
	for _, part := range st.sent(dm, 3)[1:] {
		if !strings.HasPrefix(part, mals+": ") {
			t.Errorf("a part begins with %.20q", part)
		}
	}
	st.well()
}

func TestRelayedBounds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"M", strings.Repeat("é", 32)} {
		for _, brk := range []string{"\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029", " "} {
			for _, m := range relayed(name, strings.Repeat("bob: "+brk+"😀", 1500)) {
				if n := len(utf16.Encode([]rune(m.Text))); n > markup.Limit {
					t.Fatalf("%d units", n)
				}
				for i, line := range strings.Split(m.Text, "\n") {
					if want := map[bool]string{true: name + ": ", false: "|"}[i == 0]; !strings.HasPrefix(line, want) {
						t.Fatalf("%q: line %d is %.20q", brk, i, line)
					}
				}
				if strings.ContainsAny(m.Text, "\r\v\f\u0085\u2028\u2029") {
					t.Fatalf("%q is in a message", brk)
				}
			}
		}
	}
}
