#!/usr/bin/env bash
# tidwall/wal 1.2.1: after one write that found the disk full, the log takes records, and opens never again.
#
# Guess:    a Write that returns an error leaves the log as it was; one that returns nil can be read after a restart.
# Behaviour: what the failed write left in the file stays there, and the next record is written behind it. Open then says
#           "log corrupt", and gives none of the records, neither those before nor those after. Nothing repairs it.
# Remedy:   close the log at the first error, and cut its last file to the length that it had before, or let no more be written.
#
# Needs Go and Linux. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/tidwall/wal"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// room bounds the size of files: what is above it does not fit, as on a full disk.
func room(bytes uint64) (before uint64) {
	var limit syscall.Rlimit
	must(0, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	before, limit.Cur = limit.Cur, bytes
	must(0, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	return before
}

func main() {
	log, record := must(wal.Open(os.Args[1], nil)), []byte(strings.Repeat("x", 1000))
	for n := range uint64(5) {
		must(0, log.Write(n+1, record))
	}
	before := room(5500)
	full := log.Write(6, record)
	room(before)
	fmt.Println("without room:", full != nil)
	later := errors.Join(log.Write(6, record), log.Write(7, record))
	fmt.Println("with room again:", later)
	must(0, log.Close())
	_, err := wal.Open(os.Args[1], nil)
	fmt.Println("opened again:", err)
	if full == nil || later != nil || !errors.Is(err, wal.ErrCorrupt) {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/tidwall/wal@v1.2.1 >/dev/null 2>&1
echo "tidwall/wal v1.2.1, $(go version)"
go build -o finding .
./finding "$dir/log"
