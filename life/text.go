package life

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lethe/blobs"
)

// String returns the event's line without the checksum.
func (e Event) String() string {
	words := append([]string{"[" + e.At.UTC().Format(blobs.TimeFormat) + "]", e.Kind}, e.Args...)
	for _, field := range e.Fields {
		words = append(words, field.Key+"="+quote(field.Value))
	}
	for _, ref := range e.Refs {
		words = append(words, ref.String())
	}
	return strings.Join(words, " ")
}

// check refuses an event that would not read back as it was written.
func (e Event) check() error {
	names := append([]string{e.Kind}, e.Args...)
	for _, field := range e.Fields {
		names = append(names, field.Key)
	}
	for _, word := range names {
		if !name(word) {
			return fmt.Errorf("%s: %q is not a word", e.Kind, word)
		}
	}
	for _, ref := range e.Refs {
		length := len(ref.Hash)
		fits := length >= blobs.MinPrefix && length <= 64
		if !fits || strings.Trim(ref.Hash, "0123456789abcdef") != "" {
			return fmt.Errorf("%s: ref has hash %q", e.Kind, ref.Hash)
		}
	}
	return nil
}

// joined stands before the checksum of a line if the append of the line before wrote
// it, too.
const joined = "+"

// name reports whether s can be a kind, an argument or a key.
func name(s string) bool {
	if s == joined || !utf8.ValidString(s) {
		return false
	}
	return word(s) && !strings.ContainsAny(s, "◰◱◲◳◆")
}

// word reports whether a writer may leave a value bare. Unicode changes the set of
// printable characters from version to version, so a reader asks bare instead.
func word(s string) bool {
	return bare(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// bare reports whether s has the shape of a word: it is not empty and has no
// character that ends a word.
func bare(s string) bool { return s != "" && !strings.ContainsFunc(s, endsWord) }

func endsWord(char rune) bool {
	switch char {
	case '=', '"', '#', '◱', '◲', 0x7f:
		return true
	}
	return char <= ' '
}

// quote makes a value safe: it escapes structure characters, and quotes all but plain
// words like a Go string, so that no newline gets through.
func quote(s string) string {
	s = blobs.Escape(s)
	if word(s) {
		return s
	}
	return strconv.Quote(s)
}

var errForm = errors.New("not an event")

// parse reads the text that Event.String wrote. It takes refs, fields and arguments in any order.
func parse(line string) (Event, error) {
	var event Event
	head, rest, closed := strings.Cut(line, "] ")
	stamp, opened := strings.CutPrefix(head, "[")
	if !closed || !opened {
		return event, errForm
	}
	at, err := time.Parse(blobs.TimeFormat, stamp)
	if err != nil || at.Format(blobs.TimeFormat) != stamp {
		return event, errForm
	}
	event.At = at
	event.Kind, rest = cutWord(rest)
	if !bare(event.Kind) {
		return event, errForm
	}
	for rest != "" {
		if rest[0] != ' ' {
			return event, errForm
		}
		if rest, err = event.take(rest[1:]); err != nil {
			return event, err
		}
	}
	return event, nil
}

// cutWord splits s before its first space or equals sign.
func cutWord(s string) (word, rest string) {
	if at := strings.IndexAny(s, " ="); at >= 0 {
		return s[:at], s[at:]
	}
	return s, ""
}

// take adds the ref, field or argument at the beginning of text, and returns the rest.
func (e *Event) take(text string) (rest string, err error) {
	if strings.HasPrefix(text, "◱") {
		body, rest, ok := strings.Cut(text, "◲")
		refs := blobs.ParseRefs(body + "◲")
		if !ok || len(refs) != 1 {
			return "", errForm
		}
		if strings.Count(body, "◱") != 1 {
			return "", errForm
		}
		e.Refs = append(e.Refs, refs[0])
		return rest, nil
	}
	key, rest := cutWord(text)
	if !bare(key) {
		return "", errForm
	}
	if !strings.HasPrefix(rest, "=") {
		e.Args = append(e.Args, key)
		return rest, nil
	}
	value, rest, err := unquote(rest[1:])
	if err != nil {
		return "", err
	}
	e.Fields = append(e.Fields, Field{key, value})
	return rest, nil
}

// unquote reads the value at the beginning of text, which quote wrote.
func unquote(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value, _, _ = strings.Cut(text, " ")
		if !bare(value) {
			return "", "", errForm
		}
		return blobs.Unescape(value), text[len(value):], nil
	}
	quoted, _ := strconv.QuotedPrefix(text)
	value, err = strconv.Unquote(quoted)
	if err != nil {
		return "", "", errForm
	}
	return blobs.Unescape(value), text[len(quoted):], nil
}
