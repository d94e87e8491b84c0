#!/usr/bin/env bash
# tmc/langchaingo 0.1.14: of a page that is split for an index, the commands and code are missing, and steps have other numbers.
#
# Guess:    a splitter's chunks hold, together, what the page says.
# Behaviour: NewMarkdownTextSplitter leaves out each block of code, fenced or indented, without a word: a guide keeps "Run:" and
#           loses what to run. WithCodeBlocks(true) brings them back. A list that begins at 3 begins at 1, with either setting, so that
#           "step 4" of the page is another one in the index. Nothing in a chunk shows that something is missing.
# Remedy:   WithCodeBlocks(true), and for numbers a splitter that cuts the text as it is (NewRecursiveCharacter).
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >guide.md <<'MD'
# Restore

Run:

```sh
restore --from monday
```

3. stop the pump
4. open the valve

Then:

    restart --all
MD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/tmc/langchaingo/textsplitter"
)

func main() {
	page, err := os.ReadFile("guide.md")
	if err != nil {
		panic(err)
	}
	split := func(name string, splitter textsplitter.TextSplitter) string {
		chunks, err := splitter.SplitText(string(page))
		fmt.Printf("%s: %q, error %v\n", name, chunks, err)
		return strings.Join(chunks, "\n")
	}
	has := func(text string, words ...string) (n int) {
		for _, word := range words {
			n += strings.Count(text, word)
		}
		return n
	}
	plain := split("NewMarkdownTextSplitter()", textsplitter.NewMarkdownTextSplitter())
	code := split("WithCodeBlocks(true)", textsplitter.NewMarkdownTextSplitter(textsplitter.WithCodeBlocks(true)))
	chars := split("NewRecursiveCharacter()", textsplitter.NewRecursiveCharacter())
	commands, numbers := []string{"restore --from monday", "restart --all"}, []string{"3. stop the pump", "4. open the valve"}
	others := []string{"1. stop the pump", "2. open the valve"}
	if has(plain, commands...) != 0 || has(code, commands...) != 2 || has(chars, commands...) != 2 ||
		has(plain, others...) != 2 || has(code, others...) != 2 || has(chars, numbers...) != 2 {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/tmc/langchaingo@v0.1.14 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "langchaingo v0.1.14, $(go version)"
cat guide.md
go run .
