package mind

import (
	"fmt"
	"strconv"
	"strings"

	"lethe/internal/pattern"
)

// View renders the context as text, for people and editors. Its first line names
// the last entry in it and holds the hash of the rest. View leaves out a unit that
// still lacks a result, and all entries behind it. docs/context.md specifies the
// format.
func (s *State) View() []byte {
	through := s.settled(s.Next)
	rest := render(s.sections(through)) + endHeader + "\n"
	return fmt.Appendf(nil, "◆ context of %s %s epoch=%d through=e%d hash=%s\n%s",
		s.Name, shortSelf(s.Self), s.Epoch, through, Digest([]byte(rest)), rest)
}

// shortSelf returns the first 16 digits of an identity.
func shortSelf(self string) string { return self[:min(16, len(self))] }

// sections renders the stable parts and the entries up to number through.
func (s *State) sections(through int) []section {
	out := []section{{"◆ system", s.Stable.System}}
	for _, sec := range parse(s.Stable.Past) {
		if sec.about().kind == faded && s.Stable.Indented { // a person edits the summary as it was written
			sec.body = strings.ReplaceAll("\n"+sec.body, "\n    ", "\n")[1:]
		}
		out = append(out, sec)
	}
	for _, entry := range s.Live {
		if entry.N > through {
			break
		}
		out = append(out, entry.sections(false)...)
	}
	return out
}

// Seen is a context.md that was read.
type Seen struct {
	Through int  // the newest entry in it
	Intact  bool // nobody has edited it
	Epoch   int  // its epoch; Compare takes fewer changes from a file of an earlier epoch

	self  string // the first digits of the identity
	above string // text that a person wrote above the first line
	text  string // everything below the first line
}

var viewPattern = pattern.Lazy(`(?ms)\A(.*?)^◆ context of \S+ ([0-9a-f]+) epoch=(\d+) through=e(\d+) hash=([0-9a-f]{16})[ \t\r]*$\n?`)

// ReadView reads a context.md. It returns false if the file lacks its first or last line, or has a zero byte: a power
// loss or a crash of the editor has damaged it, and nobody may obey it.
func ReadView(file []byte) (Seen, bool) {
	whole := strings.TrimPrefix(string(file), "\uFEFF") // some editors write a byte order mark
	match := viewPattern().FindStringSubmatch(whole)
	if match == nil || strings.Contains(whole, "\x00") {
		return Seen{}, false
	}
	above, text := strings.TrimSpace(match[1]), whole[len(match[0]):]
	epoch, _ := strconv.Atoi(match[3]) // digits, by the pattern
	through, _ := strconv.Atoi(match[4])
	intact := above == "" && Digest([]byte(strings.TrimRight(text, "\n")+"\n")) == match[5]
	return Seen{through, intact, epoch, match[2], above, text}, endLine().MatchString(text)
}

var endLine = pattern.Lazy(`(?m)^` + endHeader + `[ \t\r]*$`)
