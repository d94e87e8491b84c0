package lines_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"lethe/internal/lines"
)

// Each line is passed once, a long one in parts, and an error comes behind the bytes that came with it.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	var got []string
	enough := errors.New("enough")
	read := func(text string) (string, error) {
		got = nil
		in := lines.New(strings.NewReader(text), 5000, func(line []byte) ([]byte, error) {
			got = append(got, string(line))
			switch {
			case string(line) == "no\n":
				return nil, nil
			case string(line) == "end\n":
				return []byte("last"), enough
			}
			return line, nil
		})
		all, err := io.ReadAll(in)
		if ended := in.Err(); err != nil && !errors.Is(ended, err) || err == nil && ended != io.EOF {
			t.Errorf("%q ends with %v, and says %v", text, err, ended)
		}
		return string(all), err
	}
	text, err := read("a\n\nno\nb")
	if want := []string{"a\n", "\n", "no\n", "b"}; err != nil || text != "a\n\nb" || !slices.Equal(got, want) {
		t.Errorf("%q, %v, of %q", text, err, got)
	}
	text, err = read("a\nend\nb\n")
	if !errors.Is(err, enough) || text != "a\nlast" {
		t.Errorf("%q, %v", text, err)
	}
	text, err = read(long + "\n")
	if err != nil || text != long+"\n" || len(got) != 2 || len(got[0]) <= 5000 || len(got[0]) > 5000+4096 {
		t.Errorf("%d bytes in %d parts, %v", len(text), len(got), err)
	}
}
