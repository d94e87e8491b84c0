#!/usr/bin/env bash
# modernc.org/sqlite 1.60.1: a text of a column named DATE or DATETIME is read as another text, and finds its row no more.
#
# Guess:    SQLite's types are those of the values: a text is read as it was stored, above all into a string.
# Behaviour: the driver goes by the word in CREATE TABLE. '2026-03-04' comes out as 2026-03-04T00:00:00Z, and a local time gets
#           a Z that nobody wrote. A reader that takes what is new since the last row it saw, or copies rows into another
#           file, misses rows and changes them. A number in such a column, and a text that is no date, stay.
# Remedy:   CAST(d AS TEXT), or +d, in the query.
#
# Needs Go. Exits with 1 if the driver behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "modernc.org/sqlite"
)

func main() {
	db, err := sql.Open("sqlite", "file:days.db")
	must(err)
	_, err = db.Exec(`CREATE TABLE days(d DATE, at DATETIME);
		INSERT INTO days VALUES('2026-03-04', '2026-03-04 10:00:00'), ('2026-03-05', '2026-03-05 10:00:00')`)
	must(err)
	var day, at, plain string
	must(db.QueryRow("SELECT d, at, +d FROM days").Scan(&day, &at, &plain))
	var same, later, newer int
	must(db.QueryRow("SELECT count(*) FROM days WHERE d = ?", day).Scan(&same))
	must(db.QueryRow("SELECT count(*) FROM days WHERE d > ?", plain).Scan(&newer))
	fmt.Printf("stored 2026-03-04, read %s, with + %s\n", day, plain)
	fmt.Printf("rows of the day that was read: %d; newer than it with +: %d\n", same, newer)
	_, err = db.Exec("INSERT INTO days VALUES('2026-03-04', '2026-03-04 18:30:00')")
	must(err)
	must(db.QueryRow("SELECT count(*) FROM days WHERE at > ?", at).Scan(&later))
	fmt.Printf("newer than 10:00, of two that are: %d\n", later)
	if day != "2026-03-04T00:00:00Z" || plain != "2026-03-04" || same != 0 || newer != 1 || later != 1 {
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get modernc.org/sqlite@v1.60.1 >/dev/null 2>&1
echo "modernc.org/sqlite 1.60.1, $(go env GOVERSION)"
go run .
