#!/usr/bin/env bash
# fsnotify 1.10.1 on Linux: events name files that are not there once a folder above was renamed, and a second Add may watch nothing.
#
# Guess:    a watch is of the path that was given, so that its events name files at that path, and Add without an error watches.
# Behaviour: it is of the folder, under the first name it was given. After "old" was renamed, a file made in new/in is told as
#           old/in/file, WatchList goes on to show old/in, and what appears at old/in is not told. And Add of a link to a
#           watched folder returns nil, but no event bears its name, and Remove says that there is no such watch.
# Remedy:   watch the folders above, too, and take the watch off and set it anew where one is renamed; resolve links before Add.
#
# Needs Go, on Linux. Exits with 1 if the library behaves otherwise.
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
	"time"

	"github.com/fsnotify/fsnotify"
)

func must(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}

// told returns the names that events bear until nothing happens for a while.
func told(w *fsnotify.Watcher) string {
	var names []string
	for {
		select {
		case e := <-w.Events:
			names = append(names, e.Op.String()+" "+e.Name)
		case err := <-w.Errors:
			panic(err)
		case <-time.After(time.Second):
			return strings.Join(names, ", ")
		}
	}
}

func main() {
	w, err := fsnotify.NewWatcher()
	must(err, os.MkdirAll("old/in", 0o755), os.Mkdir("real", 0o755), os.Symlink("real", "link"))
	must(w.Add("old/in"), w.Add("real"), w.Add("link"))
	must(os.Rename("old", "new"), os.Mkdir("new/in/file", 0o755))
	moved := told(w)
	must(os.MkdirAll("old/in/other", 0o755))
	anew := told(w)
	must(os.Mkdir("link/file", 0o755))
	linked := told(w)
	removed := w.Remove("link")
	fmt.Printf("after the rename: %q\nat the old path: %q\nin the link: %q\nRemove of the link: %v\n", moved, anew, linked, removed)
	same := moved == "CREATE old/in/file" && anew == "" && linked == "CREATE real/file"
	if !same || !errors.Is(removed, fsnotify.ErrNonExistentWatch) {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/fsnotify/fsnotify@v1.10.1 >/dev/null 2>&1
echo "fsnotify v1.10.1, $(go version)"
go run .
