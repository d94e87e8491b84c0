package mind

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseID reads the number of an entry (e12) or of a call (e12.3, where 3 counts
// from 1). The call number is 0 for an entry.
func ParseID(id string) (entry, call int, err error) {
	rest, ok := strings.CutPrefix(id, "e")
	n, k, dotted := strings.Cut(rest, ".")
	entry, err = strconv.Atoi(n)
	if err == nil && dotted {
		call, err = strconv.Atoi(k)
	}
	if !ok || err != nil || entry < 1 || call < 0 || (dotted && call < 1) {
		return 0, 0, fmt.Errorf("%q is not the number of an entry or call", id)
	}
	return entry, call, nil
}

// EntryID is e12.
func EntryID(n int) string { return "e" + strconv.Itoa(n) }

// CallID is e12.3.
func CallID(n, k int) string { return fmt.Sprintf("e%d.%d", n, k) }

// String is F..T, as a log writes a range of bytes.
func (s Span) String() string { return fmt.Sprintf("%d..%d", s.From, s.To) }

func parseSpan(s string) (Span, error) {
	from, to, ok := strings.Cut(s, "..")
	f, err1 := strconv.ParseInt(from, 10, 64)
	t, err2 := strconv.ParseInt(to, 10, 64)
	if !ok || err1 != nil || err2 != nil || f < 0 || t < f {
		return Span{}, fmt.Errorf("%q is not a range of bytes", s)
	}
	return Span{f, t}, nil
}

// Place is where a room ended when a post to it was decided: room@inode:size.
type Place struct {
	Room  string
	Inode uint64
	Size  int64
}

func (p Place) String() string { return fmt.Sprintf("%s@%d:%d", p.Room, p.Inode, p.Size) }

// ParsePlace reads what String wrote.
func ParsePlace(s string) (Place, error) {
	room, rest, ok1 := strings.Cut(s, "@")
	inode, size, ok2 := strings.Cut(rest, ":")
	i, err1 := strconv.ParseUint(inode, 10, 64)
	n, err2 := strconv.ParseInt(size, 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || n < 0 || room == "" {
		return Place{}, fmt.Errorf("%q is not the end of a room", s)
	}
	return Place{room, i, n}, nil
}
