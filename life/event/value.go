package event

import (
	"fmt"
	"strings"
)

// Span is a range of bytes, [From, To), written F..T.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

func (s Span) String() string { return fmt.Sprintf("%d..%d", s.From, s.To) }

func (s *Span) parse(text string) error {
	if _, err := fmt.Sscanf(text, "%d..%d", &s.From, &s.To); err != nil || s.String() != text || s.From < 0 || s.To < s.From {
		return fmt.Errorf("%q is not a range of bytes", text)
	}
	return nil
}

// Place is where a room ended when a post to it was decided, written
// room@inode:size.
type Place struct {
	Room  string
	Inode uint64
	Size  int64
}

func (p Place) String() string { return fmt.Sprintf("%s@%d:%d", p.Room, p.Inode, p.Size) }

func (p *Place) parse(text string) error {
	room, end, _ := strings.Cut(text, "@")
	p.Room = room
	if _, err := fmt.Sscanf(end, "%d:%d", &p.Inode, &p.Size); err != nil || p.String() != text || p.Size < 0 || room == "" {
		return fmt.Errorf("%q is not the end of a room", text)
	}
	return nil
}

// Entries is a range of entries, both included, written eA..eB.
type Entries struct{ From, To int }

func (e Entries) String() string { return fmt.Sprintf("e%d..e%d", e.From, e.To) }

func (e *Entries) parse(text string) error {
	if _, err := fmt.Sscanf(text, "e%d..e%d", &e.From, &e.To); err != nil || e.String() != text || e.From < 1 || e.To < e.From {
		return fmt.Errorf("%q is not a range of entries", text)
	}
	return nil
}

// File is a version of one of the identity's own files, written NAME:hash. The
// hash is the first 16 hex digits of the BLAKE3 of its text.
type File struct{ Name, Hash string }

func (f File) String() string { return f.Name + ":" + f.Hash }

func (f *File) parse(text string) error {
	var ok bool
	if f.Name, f.Hash, ok = strings.Cut(text, ":"); !ok {
		return fmt.Errorf("%q is not a version of a file", text)
	}
	return nil
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
