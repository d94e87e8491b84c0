#!/usr/bin/env bash
# chromem-go 0.7.0: a store of vectors that is opened with the other setting of compress is empty, and what it is given then vanishes.
#
# Guess:    compress says how new documents are written; a store opens with all it has, or is refused.
# Behaviour: files of the other kind are passed over without a word: 0 documents. What is added then lies beside them, and is not
#           there once the setting is back. So an upgrade that turns compression on forgets all, and one that turns it off
#           again forgets what came between.
# Remedy:   keep the setting with the store; to change it, Export and Import; compare Count with what you know.
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
	"context"
	"fmt"
	"os"

	"github.com/philippgille/chromem-go"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// open returns how many documents a store has, and adds one for each id.
func open(dir string, compress bool, ids ...string) int {
	embed := func(context.Context, string) ([]float32, error) { return []float32{1, 0}, nil }
	notes := must(must(chromem.NewPersistentDB(dir, compress)).GetOrCreateCollection("notes", nil, embed))
	count := notes.Count()
	for _, id := range ids {
		must(0, notes.AddDocument(context.Background(), chromem.Document{ID: id, Content: "note " + id}))
	}
	return count
}

func main() {
	dir := os.Args[1]
	out := fmt.Sprintln("new:", open(dir, false, "1", "2", "3"), "then three are added")
	out += fmt.Sprintln("opened again:", open(dir, false))
	out += fmt.Sprintln("opened with compress:", open(dir, true, "4"), "then a fourth is added")
	out += fmt.Sprintln("opened without it:", open(dir, false))
	fmt.Print(out)
	if out != "new: 0 then three are added\nopened again: 3\nopened with compress: 0 then a fourth is added\n"+
		"opened without it: 3\n" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/philippgille/chromem-go@v0.7.0 >/dev/null 2>&1
echo "chromem-go v0.7.0, $(go version)"
go run . "$dir/store"
