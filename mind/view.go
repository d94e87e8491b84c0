package mind

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// View renders the live context as text, for people and editors. Its first line
// says through which entry it goes and holds the hash of the rest. A unit that
// still lacks a result, and what follows it, is not in it. docs/context.md
// specifies the format.
func (s *State) View() []byte {
	through := s.settled(s.Next)
	rest := render(s.sections(through)) + endHeader + "\n"
	return fmt.Appendf(nil, "◆ context of %s %s epoch=%d through=e%d hash=%s\n%s",
		s.Name, s.shortSelf(), s.Epoch, through, Digest([]byte(rest)), rest)
}

func (s *State) shortSelf() string { return s.Self[:min(16, len(s.Self))] }

// sections renders the stable parts and the entries up to number through.
func (s *State) sections(through int) []section {
	out := []section{{"◆ system", s.Stable.System}}
	for _, sec := range parse(s.Stable.Past) {
		if sec.about().kind == faded && s.Stable.Indented { // a person edits the summary as it was written
			sec.body = strings.ReplaceAll("\n"+sec.body, "\n    ", "\n")[1:]
		}
		out = append(out, sec)
	}
	for _, e := range s.Live {
		if e.N > through {
			break
		}
		out = append(out, e.sections(false)...)
	}
	return out
}

// Seen is a context.md as it was found.
type Seen struct {
	Through int  // the newest entry in it
	Intact  bool // nobody has edited it
	Epoch   int  // that it was written in; in a later one not all of it can be compared

	self  string // first digits of whose context it is
	above string // what a person wrote over the first line
	text  string // what follows it
}

var viewPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?ms)\A(.*?)^◆ context of \S+ ([0-9a-f]+) epoch=(\d+) through=e(\d+) hash=([0-9a-f]{16})[ \t\r]*$\n?`)
})

// ReadView reads a context.md. It is false when the file lacks our first or last line, or has a zero byte:
// then it is what a power loss left of a view, or an editor that died of an edit, and nobody is to obey it.
func ReadView(file []byte) (Seen, bool) {
	whole := strings.TrimPrefix(string(file), "\uFEFF") // some editors put that there
	m := viewPattern().FindStringSubmatch(whole)
	if m == nil || strings.Contains(whole, "\x00") {
		return Seen{}, false
	}
	above, text := strings.TrimSpace(m[1]), whole[len(m[0]):]
	epoch, _ := strconv.Atoi(m[3]) // digits, by the pattern
	through, _ := strconv.Atoi(m[4])
	intact := above == "" && Digest([]byte(strings.TrimRight(text, "\n")+"\n")) == m[5]
	return Seen{through, intact, epoch, m[2], above, text}, endLine().MatchString(text)
}

var endLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^` + endHeader + `[ \t\r]*$`) })
