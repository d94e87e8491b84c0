#!/usr/bin/env bash
# nxadm/tail 1.4.11 (Go): a record that is half written when it is looked at comes as two lines, of which none is a record.
#
# Guess:    a followed file yields lines: what has no line end yet is held back until it has.
# Behaviour: what stands at the end of the file is a line, and the rest of it is another one. A log of JSON whose writer flushes
#           between two halves, or whose record is larger than one write, loses that record: both halves fail to parse. On a
#           quiet machine it is never seen.
# Remedy:   CompleteLines: true.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nxadm/tail"
)

func main() {
	given, _ := follow("a.jsonl", false)
	whole, lost := follow("b.jsonl", true)
	if given != `{"n":1} | {"n":2, | "text":"two"} | {"n":3}` || whole != `{"n":1} | {"n":2,"text":"two"} | {"n":3}` || lost != 0 {
		os.Exit(1)
	}
}

// follow writes three records, the second one in two parts, and returns what a reader of the file gets meanwhile, and how
// much of that is no JSON.
func follow(name string, complete bool) (given string, lost int) {
	file, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	followed, err := tail.TailFile(name, tail.Config{Follow: true, CompleteLines: complete, Logger: tail.DiscardingLogger})
	if err != nil {
		panic(err)
	}
	go func() {
		for _, part := range []string{"{\"n\":1}\n", "{\"n\":2,", "\"text\":\"two\"}\n", "{\"n\":3}\n"} {
			time.Sleep(700 * time.Millisecond)
			file.WriteString(part)
		}
	}()
	var lines []string
	for line := range followed.Lines {
		lines = append(lines, line.Text)
		if !json.Valid([]byte(line.Text)) {
			lost++
		}
		if line.Text == `{"n":3}` {
			break
		}
	}
	given = strings.Join(lines, " | ")
	fmt.Printf("CompleteLines %v: %s (%d of no use)\n", complete, given, lost)
	return given, lost
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nxadm/tail@v1.4.11 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "nxadm/tail v1.4.11, $(go version)"
go run .
