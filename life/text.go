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

// String is the event as its line has it, without the checksum.
func (e Event) String() string {
	words := append([]string{"[" + e.At.UTC().Format(blobs.TimeFormat) + "]", e.Kind}, e.Args...)
	for _, f := range e.Fields {
		words = append(words, f.Key+"="+quote(f.Value))
	}
	for _, r := range e.Refs {
		words = append(words, r.String())
	}
	return strings.Join(words, " ")
}

// check refuses an event that would not read back as it was written.
func (e Event) check() error {
	names := append([]string{e.Kind}, e.Args...)
	for _, f := range e.Fields {
		names = append(names, f.Key)
	}
	for _, n := range names {
		if !name(n) {
			return fmt.Errorf("%s: %q is not a word", e.Kind, n)
		}
	}
	for _, r := range e.Refs {
		if n := len(r.Hash); n < blobs.MinPrefix || n > 64 || strings.Trim(r.Hash, "0123456789abcdef") != "" {
			return fmt.Errorf("%s: ref has hash %q", e.Kind, r.Hash)
		}
	}
	return nil
}

// joined stands before the checksum of a line that was written by the same
// append as the line before it.
const joined = "+"

// name reports whether s can be a kind, an argument or a key.
func name(s string) bool {
	return word(s) && s != joined && utf8.ValidString(s) && !strings.ContainsAny(s, "◰◱◲◳◆")
}

// word reports whether a value may stand bare in a line that is written. What
// counts as printable changes with Unicode, so a reader asks bare instead.
func word(s string) bool {
	return bare(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// bare reports whether s has the shape of a word: it is not empty and holds
// nothing that could end it.
func bare(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '=' || r == '"' || r == '#' || r == '◱' || r == '◲'
	})
}

// quote makes a value safe: structure characters are escaped, and all but plain
// words are quoted as Go quotes a string, so no newline gets through.
func quote(s string) string {
	s = blobs.Escape(s)
	if word(s) {
		return s
	}
	return strconv.Quote(s)
}

var errForm = errors.New("not an event")

// parse reads what text wrote. It takes refs, fields and arguments in any order.
func parse(line string) (Event, error) {
	var e Event
	stamp, rest, ok := strings.Cut(line, "] ")
	if !ok || stamp == "" || stamp[0] != '[' {
		return e, errForm
	}
	at, err := time.Parse(blobs.TimeFormat, stamp[1:])
	if err != nil || at.Format(blobs.TimeFormat) != stamp[1:] {
		return e, errForm
	}
	e.At = at
	e.Kind, rest = cutWord(rest)
	if !bare(e.Kind) {
		return e, errForm
	}
	for rest != "" {
		if rest[0] != ' ' {
			return e, errForm
		}
		if rest, err = e.take(rest[1:]); err != nil {
			return e, err
		}
	}
	return e, nil
}

// cutWord splits s before its first space or equals sign.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, " ="); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// take adds the ref, field or argument that s begins with, and returns the rest.
func (e *Event) take(s string) (rest string, err error) {
	if strings.HasPrefix(s, "◱") {
		body, rest, ok := strings.Cut(s, "◲")
		refs := blobs.ParseRefs(body + "◲")
		if !ok || len(refs) != 1 || strings.Count(body, "◱") != 1 {
			return "", errForm
		}
		e.Refs = append(e.Refs, refs[0])
		return rest, nil
	}
	key, rest := cutWord(s)
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

// unquote reads what quote wrote at the beginning of s.
func unquote(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		value, _, _ = strings.Cut(s, " ")
		if !bare(value) {
			return "", "", errForm
		}
		return blobs.Unescape(value), s[len(value):], nil
	}
	q, _ := strconv.QuotedPrefix(s)
	value, err = strconv.Unquote(q)
	if err != nil {
		return "", "", errForm
	}
	return blobs.Unescape(value), s[len(q):], nil
}
