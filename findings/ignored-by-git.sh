#!/usr/bin/env bash
# go-gitignore (sabhiram, 2021-09-23): patterns of a .gitignore are read as regular expressions, and mean other files.
#
# Guess:    the library that matches .gitignore files matches what git check-ignore does, "?" and "[!…]" included.
# Behaviour: "?" stays a quantifier, "+", "(", "$" and "|" stay operators, and "!" in brackets is a plain character. So
#           "file?.c" does not ignore file1.c, "a+b.txt" ignores aab.txt, and "x[!0-9]" ignores x1, not xa.
# Remedy:   a matcher of globs, such as doublestar, and a line of rules for each pattern: gitignore(5).
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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	ignore "github.com/sabhiram/go-gitignore"
)

func main() {
	dir, err := os.MkdirTemp("", "finding")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		panic(string(out))
	}
	differ := 0
	for _, c := range [][2]string{{"file?.c", "file1.c"}, {"a+b.txt", "a+b.txt"}, {"a+b.txt", "aab.txt"}, {"c(1).txt", "c(1).txt"},
		{"x[!0-9]", "x1"}, {"x[!0-9]", "xa"}, {"*.log", "a.log"}} {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(c[0]+"\n"), 0o600); err != nil {
			panic(err)
		}
		git := exec.Command("git", "-C", dir, "check-ignore", "-q", c[1]).Run() == nil
		library := ignore.CompileIgnoreLines(c[0]).MatchesPath(c[1])
		fmt.Printf("%-10s %-10s git ignores it: %-5v the library: %v\n", c[0], c[1], git, library)
		if git != library {
			differ++
		}
	}
	if differ != 6 {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/sabhiram/go-gitignore@v0.0.0-20210923224102-525f6e181f06 >/dev/null 2>&1
echo "go-gitignore v0.0.0-20210923224102-525f6e181f06, $(git --version), $(go version)"
go run .
