#!/usr/bin/env bash
# klauspost/compress 1.20.3: what a killed writer left of an s2 file reads as a whole, shorter one; of a zstd or gzip file it does not.
#
# Guess:    Close ends a stream, so that a reader of one without an end returns io.ErrUnexpectedEOF, with s2 as with the library's
#           gzip and zstd.
# Behaviour: a stream of s2 has no end, and each block is written by itself. A program that dies before Close leaves whole blocks,
#           and io.ReadAll returns them without an error. An export or a backup that misses its last rows is taken for good.
# Remedy:   a name that is given after Close alone, a count or a mark as the last line, or zstd.
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
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	if len(os.Args) > 1 {
		export(os.Args[1])
	}
	same := true
	for _, kind := range []string{"gzip", "zstd", "s2"} {
		died := exec.Command(os.Args[0], kind).Run()
		file := must(os.Open("rows." + kind))
		text, err := io.ReadAll(opened(kind, file))
		lines := 0
		for _, b := range text {
			if b == '\n' {
				lines++
			}
		}
		fmt.Printf("%s: wrote %d rows, ended by %v; read %d, error %v\n", kind, rows, died, lines, err)
		file.Close()
		same = same && lines < rows && lines > 0
		if kind == "s2" {
			same = same && err == nil
		} else {
			same = same && errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
	if !same {
		os.Exit(1)
	}
}

const rows = 600_000

// export writes rows and is killed before it could close the stream.
func export(kind string) {
	file := must(os.Create("rows." + kind))
	var to io.Writer = gzip.NewWriter(file)
	switch kind {
	case "zstd":
		to = must(zstd.NewWriter(file))
	case "s2":
		to = s2.NewWriter(file, s2.WriterConcurrency(1))
	}
	for i := range rows {
		fmt.Fprintf(to, "row %d\n", i)
	}
	must(0, must(os.FindProcess(os.Getpid())).Kill())
	select {}
}

func opened(kind string, file io.Reader) io.Reader {
	switch kind {
	case "zstd":
		return must(zstd.NewReader(file))
	case "s2":
		return s2.NewReader(file)
	}
	return must(gzip.NewReader(file))
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/klauspost/compress@v1.20.3 >/dev/null 2>&1
go build -o export .
echo "klauspost/compress v1.20.3, $(go version)"
./export
