package main

import (
	"strings"
	"testing"
	"time"
)

// Columns are aligned, whatever strangers wrote into a cell: each stays in its column, in one line, and is safe to show.
func TestTable(t *testing.T) {
	rows := newTable("NAME", "ROOMS", "LAST")
	rows.row("ada", []string{"dev", "ops"}, "one\ttab")
	rows.row("漢字", []string{}, "two\nlines \x1b[31m")
	rows.row("", time.Time{}, 7)
	var out strings.Builder
	rows.write(&out)
	want := "NAME  ROOMS    LAST\n" +
		"ada   dev,ops  one\ttab\n" +
		"漢字    -        two; lines ␛[31m\n" +
		"-     -        7\n"
	if out.String() != want {
		t.Errorf("%q, want\n%q", out.String(), want)
	}
}
