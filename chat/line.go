package chat

import (
	"bytes"
	"errors"
	"fmt"
	"lethe/internal/screen"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Unknown is the name of who wrote a line without a tag.
const Unknown = "unknown"

// maxName bounds a name in a tag, in bytes.
const maxName = 64

// lineSep stands for a newline inside a message, so that no text can look like
// another line.
const lineSep = "\u2028"

// Line is one line of a room.
type Line struct {
	Agent  bool      // tagged AGENT, by whoever: tags are claims, not proofs
	Tagged bool      // false: the line has no tag, Name is Unknown and At is zero
	Name   string    // as it stands in the tag, or Unknown
	At     time.Time // the tag's time, UTC
	Text   string    // the message: valid UTF-8 without NUL, may hold newlines

	Command, Arg string // what Command reads
	Hash         string // of Raw; see Hash

	// From and To are the bytes of the file that the line occupies, its newline
	// included. Parse leaves them zero.
	From, To int64
	// Raw is the line as it stands in the file, without its newline.
	Raw []byte
}

// By says whether the identity of a name signs the line, or somebody who claims to be it.
func (l Line) By(name string) bool { return l.Agent && l.Name == name }

// Blank says that there is nothing to hear: the text is only white space.
func (l Line) Blank() bool { return strings.TrimSpace(l.Text) == "" }

// Parse reads one line, with or without its newline. It accepts everything: a
// line without a well-formed tag at its very start is a message of
// USER:unknown, and what is not UTF-8, or NUL, becomes U+FFFD in Text.
func Parse(raw []byte) Line {
	l, text := split(raw)
	l.Raw = bytes.TrimSuffix(raw, []byte("\n"))
	l.Hash = Hash(raw)
	l.Text = strings.ReplaceAll(cleanUTF8(text), lineSep, "\n")
	l.Command, l.Arg = Command(l)
	return l
}

// blank is Parse(raw).Blank() for less work.
func blank(raw []byte) bool {
	_, text := split(raw)
	return strings.TrimSpace(text) == ""
}

// split parts a line's tag from its message.
func split(raw []byte) (l Line, text string) {
	s := strings.TrimPrefix(string(trimEOL(raw)), "\uFEFF") // an editor's byte order mark
	if l, text, ok := CutTag(s); ok {
		return l, text
	}
	return Line{Name: Unknown}, s
}

// CutTag splits "[USER:name 2026-11-20T12:57:16Z] text". It is false where no
// well-formed tag stands at the very start.
func CutTag(s string) (l Line, text string, ok bool) {
	// The longest time of RFC 3339 has 35 bytes: a tag ends early or is none,
	// so a line of megabytes is not searched for its bracket.
	tag, _, ok := strings.Cut(s[:min(len(s), maxName+48)], "]")
	role, by, _ := strings.Cut(tag, ":")
	name, stamp, _ := strings.Cut(by, " ")
	if !ok || role != "[USER" && role != "[AGENT" || !readable(name) {
		return l, "", false
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return l, "", false
	}
	l = Line{Agent: role == "[AGENT", Tagged: true, Name: name, At: at.UTC()}
	return l, strings.TrimPrefix(s[len(tag)+1:], " "), true
}

// Format makes the line of a message: one whole line with its newline, ready
// for Append. The time is written in UTC to the second. Newlines (\n, \r\n and
// \r) become U+2028, those at the end are dropped; other control characters become
// visible as Sanitize makes them; a name that is not valid goes through CleanName.
// Blank text is refused.
func Format(agent bool, name string, at time.Time, text string) ([]byte, error) {
	text = newlines.Replace(strings.TrimRight(cleanUTF8(text), "\r\n"))
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("format message: the text is blank")
	}
	role := "USER:"
	if agent {
		role = "AGENT:"
	}
	stamp := at.UTC().Format("2006-01-02T15:04:05Z")
	return fmt.Appendf(nil, "[%s%s %s] %s\n", role, CleanName(name), stamp, screen.SanitizeControls(text)), nil
}

var newlines = strings.NewReplacer("\r\n", lineSep, "\n", lineSep, "\r", lineSep)

// cleanUTF8 puts U+FFFD for each run of bytes that is not UTF-8 and each NUL,
// which JSON carries but several databases behind an API do not.
func cleanUTF8(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// readable says whether a tag with such a name is one. Old ones may be no valid
// names any more: see ShownAsNothing.
func readable(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, cutsTag)
}

func cutsTag(r rune) bool {
	return r == ']' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsGraphic(r)
}

// ValidName says whether name can be signed with in a tag: 1 to 64 bytes of UTF-8
// without ']', white space, control or invisible format characters.
func ValidName(name string) bool {
	return readable(name) && !strings.ContainsFunc(name, ShownAsNothing)
}

// ShownAsNothing tells graphic characters that leave no ink: with one of them
// behind it, a name looks like the name without.
func ShownAsNothing(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// ByTrigger reports whether a name is that by which a trigger of the name behind the dash signs its lines.
func ByTrigger(name string) bool {
	kind, _, named := strings.Cut(name, "-")
	return named && slices.Contains([]string{"cron", "watch", "mail", "webhook"}, kind)
}

// CleanName makes a valid name of any string: "Ada [x] Lovelace" becomes
// "Ada_[x_Lovelace", and nothing becomes Unknown. Valid names stay as they are.
func CleanName(s string) string {
	if ValidName(s) {
		return s
	}
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && (cutsTag(r) || ShownAsNothing(r)) {
			return -1
		}
		return r
	}, s)
	name := strings.Join(strings.Fields(shown), "_")
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") // a rune that was cut
	}
	if name == "" {
		return Unknown
	}
	return name
}

// Stopped is what an identity answers to a /stop that ended something.
const Stopped = "Stopped."

// commands are what a user's line can tell the daemon, by name: argument is what the line
// has behind the name, or "".
var commands = map[string]func(argument string) bool{
	"stop":   none,
	"budget": func(string) bool { return true }, // what it cannot read gets an answer
	"status": none,
	"jobs":   none,
	"forget": func(arg string) bool {
		var from, to int
		n, _ := fmt.Sscanf(arg, "e%d..e%d", &from, &to)
		return n == 2 && from > 0 && from <= to && arg == fmt.Sprintf("e%d..e%d", from, to)
	},
	"model": func(arg string) bool { return arg != "" && !strings.ContainsFunc(arg, unicode.IsSpace) },
}

func none(arg string) bool { return arg == "" }

// Command reads a command to the daemon: a user's line that is nothing but "/stop", "/status", "/jobs",
// "/forget eA..eB" or "/model NAME". The name comes without its slash; white space at the end, which phones add,
// does not count. It is "" when the line is none.
func Command(l Line) (name, arg string) {
	text, ok := strings.CutPrefix(strings.TrimRight(l.Text, " \t\r\n"), "/")
	if l.Agent || !ok {
		return "", ""
	}
	name, arg, _ = strings.Cut(text, " ")
	arg = strings.Trim(arg, " \t")
	if takes := commands[name]; takes == nil || !takes(arg) {
		return "", ""
	}
	return name, arg
}
