package chat

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lethe/internal/screen"
)

// Unknown is the name for the writer of a line without a tag.
const Unknown = "unknown"

// maxName bounds a name in a tag, in bytes.
const maxName = 64

// lineSep replaces a newline inside a message, so that no text looks like another
// line.
const lineSep = "\u2028"

// Line is one line of a room.
type Line struct {
	Agent  bool      // the tag says AGENT: tags are claims, not proofs
	Tagged bool      // the line has a tag; without one, Name is Unknown and At is zero
	Name   string    // the name in the tag, or Unknown
	At     time.Time // the tag's time, UTC
	Text   string    // the message: valid UTF-8 without NUL, may hold newlines

	Command, Arg string // the results of the function Command
	Hash         string // the Hash of Raw

	// From and To are the bytes of the file that the line occupies, its newline
	// included. Parse leaves them zero.
	From, To int64
	// Raw is the line's bytes in the file, without the newline.
	Raw []byte
}

// By reports whether the line claims to be signed by the identity of this name.
func (l Line) By(name string) bool { return l.Agent && l.Name == name }

// Blank reports whether the text is only white space, so that nobody needs to hear it.
func (l Line) Blank() bool { return strings.TrimSpace(l.Text) == "" }

// Parse reads one line, with or without its newline. It accepts everything: a
// line without a well-formed tag at its very start is a message of
// USER:unknown, and invalid UTF-8 and NUL become U+FFFD in Text.
func Parse(raw []byte) Line {
	line, text := split(raw)
	line.Raw = bytes.TrimSuffix(raw, []byte("\n"))
	line.Hash = Hash(raw)
	line.Text = strings.ReplaceAll(cleanUTF8(text), lineSep, "\n")
	line.Command, line.Arg = Command(line)
	return line
}

// blank returns Parse(raw).Blank(), and does less work.
func blank(raw []byte) bool {
	_, text := split(raw)
	return strings.TrimSpace(text) == ""
}

// split parts a line's tag from its message.
func split(raw []byte) (line Line, text string) {
	whole := strings.TrimPrefix(string(trimEOL(raw)), "\uFEFF") // an editor's byte order mark
	if line, text, ok := CutTag(whole); ok {
		return line, text
	}
	return Line{Name: Unknown}, whole
}

// CutTag splits "[USER:name 2026-11-20T12:57:16Z] text". It returns false if the
// text does not begin with a well-formed tag.
func CutTag(whole string) (line Line, text string, ok bool) {
	// The longest time of RFC 3339 has 35 bytes, so the bracket stands near the
	// beginning: a line of megabytes need not be searched for it.
	tag, _, ok := strings.Cut(whole[:min(len(whole), maxName+48)], "]")
	role, by, _ := strings.Cut(tag, ":")
	name, stamp, _ := strings.Cut(by, " ")
	known := role == "[USER" || role == "[AGENT"
	if !ok || !known {
		return line, "", false
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil || !readable(name) {
		return line, "", false
	}
	line = Line{Agent: role == "[AGENT", Tagged: true, Name: name, At: at.UTC()}
	return line, strings.TrimPrefix(whole[len(tag)+1:], " "), true
}

// Format makes the line of a message: one whole line with its newline, ready
// for Append. It writes the time in UTC to the second. It drops newlines (\n, \r\n
// and \r) at the end, and makes others U+2028. Sanitize makes other control
// characters visible, and CleanName an invalid name valid. Format returns an error
// for blank text.
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

// cleanUTF8 puts U+FFFD for each run of bytes that is not UTF-8 and for each NUL:
// JSON carries NUL, but several databases behind an API do not.
func cleanUTF8(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// readable reports whether Parse accepts a name in a tag. That includes names of old
// lines that ValidName now refuses: see ShownAsNothing.
func readable(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	return utf8.ValidString(name) && !strings.ContainsFunc(name, cutsTag)
}

func cutsTag(char rune) bool {
	if char == ']' || char == utf8.RuneError {
		return true
	}
	return unicode.IsSpace(char) || !unicode.IsGraphic(char)
}

// ValidName reports whether name can sign a line: 1 to 64 bytes of UTF-8 without
// ']', white space, control or invisible format characters.
func ValidName(name string) bool {
	return readable(name) && !strings.ContainsFunc(name, ShownAsNothing)
}

// ShownAsNothing reports whether a graphic character leaves no ink: with one of
// these behind it, a name looks the same as without.
func ShownAsNothing(char rune) bool {
	const braille = '\u2800' // a cell without dots
	return char == braille || unicode.In(char, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// ByTrigger reports whether a trigger signs lines with this name, such as cron-NAME.
func ByTrigger(name string) bool {
	kind, _, named := strings.Cut(name, "-")
	return named && slices.Contains([]string{"cron", "watch", "mail", "webhook"}, kind)
}

// CleanName makes a valid name of any text: "Ada [x] Lovelace" becomes
// "Ada_[x_Lovelace", and nothing becomes Unknown. Valid names stay as they are.
func CleanName(text string) string {
	if ValidName(text) {
		return text
	}
	shown := strings.Map(func(char rune) rune {
		if unicode.IsSpace(char) {
			return char
		}
		if cutsTag(char) || ShownAsNothing(char) {
			return -1
		}
		return char
	}, text)
	name := strings.Join(strings.Fields(shown), "_")
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") // drops a rune that was cut
	}
	if name == "" {
		return Unknown
	}
	return name
}

// Stopped is an identity's answer to a /stop that ended something.
const Stopped = "Stopped."

// commands maps the names of a user's commands to functions that report whether they take an argument. The argument is
// the rest of the line behind the name, or "".
var commands = map[string]func(argument string) bool{
	"stop":     takesNothing,
	"budget":   func(string) bool { return true }, // the daemon answers an argument that it cannot read
	"audience": func(string) bool { return true },
	"work":     func(string) bool { return true },
	"status":   takesNothing,
	"jobs":     takesNothing,
	"forget":   takesRange,
	"model":    takesWord,
}

func takesNothing(arg string) bool { return arg == "" }

// takesRange reports whether arg is a range of entries, eA..eB.
func takesRange(arg string) bool {
	var from, to int
	_, err := fmt.Sscanf(arg, "e%d..e%d", &from, &to)
	inOrder := 0 < from && from <= to
	if err != nil || !inOrder {
		return false
	}
	return arg == fmt.Sprintf("e%d..e%d", from, to)
}

func takesWord(arg string) bool { return arg != "" && !strings.ContainsFunc(arg, unicode.IsSpace) }

// Command reads a command to the daemon: a user's line that consists of "/stop", "/status", "/jobs", "/budget …",
// "/audience …", "/work …", "/forget eA..eB" or "/model NAME". It ignores white space at the end, which phones add. It returns the
// name without its slash, or "" if the line is not a command.
func Command(line Line) (name, arg string) {
	text, ok := strings.CutPrefix(strings.TrimRight(line.Text, " \t\r\n"), "/")
	if line.Agent || !ok {
		return "", ""
	}
	name, arg, _ = strings.Cut(text, " ")
	arg = strings.Trim(arg, " \t")
	if takes := commands[name]; takes == nil || !takes(arg) {
		return "", ""
	}
	return name, arg
}
