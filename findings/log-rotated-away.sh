#!/usr/bin/env bash
# lumberjack 2.2.1: two rotations in one millisecond are one file, and in the night in which clocks go back the newest file is removed.
#
# Guess:    what Write has taken stands in a file until MaxBackups newer files do; a name that is there is not written over.
# Behaviour: a file goes by the moment of its rotation, to a millisecond, and is renamed over one of the same name. Records of 600 kB
#           (a request to a model with a picture) under MaxSize 1, in a row, lost up to 6 in a hundred here. With LocalTime, the names of
#           the second hour from 02:00 to 03:00 sort before those of the first, and what is rotated then is removed at once.
# Remedy:   leave LocalTime off, and let MaxSize be far above what is written within a millisecond; no log that must be whole.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >rotate_test.go <<'GO'
package finding

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"gopkg.in/natefinch/lumberjack.v2"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// kept returns the last word of each line in the files of a folder.
func kept(dir string) (words []string) {
	for _, file := range must(filepath.Glob(dir + "/*")) {
		for line := range strings.Lines(string(must(os.ReadFile(file)))) {
			words = append(words, line[strings.LastIndex(line, " ")+1:len(line)-1])
		}
	}
	return words
}

func record(n int) []byte { return append(bytes.Repeat([]byte("x"), 600_000), fmt.Sprintf(" %d\n", n)...) }

func TestRotate(t *testing.T) {
	row := &lumberjack.Logger{Filename: filepath.Join(t.TempDir(), "row", "app.log"), MaxSize: 1}
	for n := range 200 {
		must(row.Write(record(n)))
	}
	fmt.Printf("200 records in a row by this machine's clock: %d kept\n", len(kept(filepath.Dir(row.Filename))))

	dir := t.TempDir()
	time.Local = must(time.LoadLocation("Europe/Berlin"))
	synctest.Test(t, func(*testing.T) { // a clock that stands still until all wait
		one := &lumberjack.Logger{Filename: filepath.Join(dir, "one", "app.log"), MaxSize: 1}
		for n := range 4 {
			must(one.Write(record(n)))
		}
		moment := kept(filepath.Join(dir, "one"))
		fmt.Println("records 0 to 3 within a millisecond: kept", moment)

		time.Sleep(time.Until(time.Date(2000, 10, 29, 0, 5, 0, 0, time.UTC)))
		night := &lumberjack.Logger{Filename: filepath.Join(dir, "night", "app.log"), MaxBackups: 2, LocalTime: true}
		for range 4 {
			fmt.Fprintln(night, "written", time.Now().Format("15:04:05-MST"))
			if err := night.Rotate(); err != nil {
				panic(err)
			}
			synctest.Wait()
			time.Sleep(21 * time.Minute)
		}
		hour := kept(filepath.Join(dir, "night"))
		fmt.Println("two of 02:05, 02:26, 02:47 and again 02:08: kept", hour)
		os.RemoveAll(dir)
		if fmt.Sprint(moment) != "[2 3]" || fmt.Sprint(hour) != "[02:26:00-CEST 02:47:00-CEST]" {
			os.Exit(1)
		}
		os.Exit(0) // the logger's goroutine never ends
	})
}
GO
go mod init finding >/dev/null 2>&1
go get gopkg.in/natefinch/lumberjack.v2@v2.2.1 >/dev/null 2>&1
echo "lumberjack v2.2.1, $(go version)"
go test -c -o rotate.test .
TMPDIR=$dir ./rotate.test
