#!/usr/bin/env bash
# creack/pty 1.1.24 on Linux: of a line above 4,095 bytes typed into a program, the rest is dropped and no write fails.
#
# Guess:    a terminal hands on what is written into it, as a pipe does, or Write blocks or fails when nobody reads.
# Behaviour: a terminal that is not raw, as each new one, keeps one line of 4,095 bytes and its end. Write returns all bytes and no
#           error, the program reads a whole line that is shorter. So a long path, token, JSON or here-document that an agent types into
#           `cat >file`, `read` or a prompt for a password is cut.
# Remedy:   send long text by a pipe or a file, break it into shorter lines, or set the terminal raw (stty -icanon).
#
# Needs Go, on Linux. Exits with 1 if the terminal behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/creack/pty"
)

// counted types a line of n bytes and returns what Write said and what the program counted without the line's end.
func counted(mode string, n int) (written, read int, err error) {
	program := exec.Command("sh", "-c", "stty "+mode+" -echo; echo ready; head -n 1 | tr -d '\\n' | wc -c")
	terminal, err := pty.Start(program)
	if err != nil {
		panic(err)
	}
	defer terminal.Close()
	said := bufio.NewScanner(terminal)
	said.Scan()
	written, err = terminal.Write([]byte(strings.Repeat("a", n) + "\n"))
	said.Scan()
	fmt.Sscan(said.Text(), &read)
	return written, read, err
}

func main() {
	same := true
	for _, c := range []struct {
		mode    string
		n, read int
	}{{"icanon", 4095, 4095}, {"icanon", 4096, 4095}, {"icanon", 10_000, 4095}, {"-icanon", 10_000, 10_000}} {
		written, read, err := counted(c.mode, c.n)
		fmt.Printf("stty %s: a line of %d bytes: written %d with its end, error %v, read %d\n", c.mode, c.n, written, err, read)
		same = same && err == nil && written == c.n+1 && read == c.read
	}
	if !same {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/creack/pty@v1.1.24 >/dev/null 2>&1
echo "creack/pty v1.1.24, Linux $(uname -r), $(go version)"
go run .
