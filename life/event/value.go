package event

import (
	"fmt"
	"strings"

	"lethe/chat"
)

// form returns an error unless a value that was read from text is sound, and String gives the same text.
func form(v fmt.Stringer, text string, sound bool, what string) error {
	if !sound || v.String() != text {
		return fmt.Errorf("%q is not %s", text, what)
	}
	return nil
}

// Span is a range of bytes, [From, To), written F..T.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

func (s Span) String() string { return fmt.Sprintf("%d..%d", s.From, s.To) }

func (s *Span) parse(text string) error {
	_, _ = fmt.Sscanf(text, "%d..%d", &s.From, &s.To)
	return form(s, text, s.From >= 0 && s.To >= s.From, "a range of bytes")
}

// Place is the end of a room at the moment when a post to it was decided, written
// room@inode:size.
type Place struct {
	Room string
	chat.Mark
}

func (p Place) String() string { return p.Room + "@" + p.Mark.String() }

func (p *Place) parse(text string) (err error) {
	room, end, _ := strings.Cut(text, "@")
	p.Room = room
	if p.Mark, err = chat.ParseMark(end); room == "" {
		err = fmt.Errorf("%q names no room", text)
	}
	return err
}

// Passed returns the passage of a room from a byte to a cursor.
func Passed(room string, from int64, to chat.Cursor) Passage {
	return Passage{Room: room, Inode: to.Inode, At: Span{from, to.Offset}, Before: to.Before}
}

// Cursor returns the cursor behind a passage; last are the hashes of the lines before it.
func (p Passage) Cursor(last []string) chat.Cursor {
	return chat.Cursor{Inode: p.Inode, Offset: p.At.To, Before: p.Before, Last: last}
}

// FirstAt returns the First of a subscription that begins at c, in a room of so many lines.
func FirstAt(c chat.Cursor, lines int) *First {
	return &First{Inode: c.Inode, At: c.Offset, Before: c.Before, Last: c.Last, Total: lines}
}

// Cursor returns the first cursor of the subscription.
func (f First) Cursor() chat.Cursor {
	return chat.Cursor{Inode: f.Inode, Offset: f.At, Before: f.Before, Last: f.Last}
}

// Entries is a range of entries, both included, written eA..eB.
type Entries struct{ From, To int }

func (e Entries) String() string { return fmt.Sprintf("e%d..e%d", e.From, e.To) }

func (e *Entries) parse(text string) error {
	_, _ = fmt.Sscanf(text, "e%d..e%d", &e.From, &e.To)
	return form(e, text, e.From >= 1 && e.To >= e.From, "a range of entries")
}

// File is a version of a file, written NAME:hash. The hash is the first 16 hex digits
// of the BLAKE3 of its text, or of its first GB.
type File struct{ Name, Hash string }

func (f File) String() string { return f.Name + ":" + f.Hash }

func (f *File) parse(text string) error {
	colon := strings.LastIndexByte(text, ':')
	f.Name, f.Hash = text[:max(0, colon)], text[colon+1:]
	return form(f, text, true, "a version of a file")
}

// Hashes is a list, written with commas.
type Hashes []string

func (h Hashes) String() string { return strings.Join(h, ",") }

func (h *Hashes) parse(text string) error {
	if text != "" {
		*h = strings.Split(text, ",")
	}
	return nil
}

// Moment is the end of a line of a life, written SELF:LINE:LEAF: the identity, the number of
// the line, counted from 1, and the hash of its leaf in the life's tree.
type Moment struct {
	Self string
	Line int64
	Leaf string
}

func (m Moment) String() string { return fmt.Sprintf("%s:%d:%s", m.Self, m.Line, m.Leaf) }

func (m *Moment) parse(text string) error {
	_, _ = fmt.Sscanf(strings.ReplaceAll(text, ":", " "), "%s %d %s", &m.Self, &m.Line, &m.Leaf)
	hashes := isHash(m.Self) && isHash(m.Leaf)
	return form(m, text, hashes && m.Line >= 1, "a moment of a life")
}

// Buried is a blob whose bytes are gone, written ADDRESS:TOMBSTONE: the second is the
// BLAKE3 of the file that stands at the address.
type Buried struct{ Address, Tombstone string }

func (b Buried) String() string { return b.Address + ":" + b.Tombstone }

func (b *Buried) parse(text string) error {
	b.Address, b.Tombstone, _ = strings.Cut(text, ":")
	return form(b, text, isHash(b.Address) && isHash(b.Tombstone), "a blob and its tombstone")
}

// ErasedLine is a line of LIFE of which bytes are gone, written OFFSET:LEAF:NOW: its beginning, and
// the hashes of its leaf in the life's tree before and after.
type ErasedLine struct {
	Offset    int64
	Leaf, Now string
}

func (l ErasedLine) String() string { return fmt.Sprintf("%d:%s:%s", l.Offset, l.Leaf, l.Now) }

func (l *ErasedLine) parse(text string) error {
	_, _ = fmt.Sscanf(strings.ReplaceAll(text, ":", " "), "%d %s %s", &l.Offset, &l.Leaf, &l.Now)
	hashes := isHash(l.Leaf) && isHash(l.Now)
	return form(l, text, hashes && l.Offset >= 0, "a line and its hashes")
}

// isHash reports whether s is 64 hex digits in lower case.
func isHash(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
