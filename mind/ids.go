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
