package life

import "strings"

// ParseLine reads a line of a log without checking it against the line before;
// Scan and the methods of Log do.
func ParseLine(line string) (Event, error) {
	rec, err := read(strings.TrimSuffix(line, "\n") + "\n")
	return rec.event, err
}

// String is the event as its line has it, without the checksum.
func (e Event) String() string { return e.text() }
