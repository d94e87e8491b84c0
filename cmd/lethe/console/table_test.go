package console_test

import (
	"lethe/cmd/lethe/console"
	"strings"
	"testing"
	"time"
)

// Columns are aligned, whatever strangers wrote into a cell: each stays in its column, in one line, and is safe to
// show.
func TestTable(t *testing.T) {
	rows := console.NewTable("NAME", "ROOMS", "LAST")
	rows.Row("ada", []string{"dev", "ops"}, "one\ttab")
	rows.Row("漢字", []string{}, "two\nlines \x1b[31m")
	rows.Row("", time.Time{}, 7)
	var out strings.Builder
	rows.Write(&out)
	want := "NAME  ROOMS    LAST\n" +
		"ada   dev,ops  one\ttab\n" +
		"漢字    -        two; lines ␛[31m\n" +
		"-     -        7\n"
	if out.String() != want {
		t.Errorf("%q, want\n%q", out.String(), want)
	}
}
