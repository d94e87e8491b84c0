#!/usr/bin/env bash
# diff-match-patch 1.0.5 (Node) and sergi/go-diff 1.4.0 (Go): a patch for the hall changes the kitchen, and reports success.
#
# Guess:    a patch whose place is gone is not applied, and the list that patch_apply returns beside the text says false.
# Behaviour: a patch keeps some letters beside the change, here "heat = 1" and "[bath]", and goes to the likest place within a
#           thousand. Somebody has deleted the section [hall] meanwhile; the change of its heat is made in [kitchen], and the list
#           says true. Any text of parts that look alike has such places: sections, records, list entries, tests.
# Remedy:   Match_Threshold = 0 asks for the very place (the list says false then); or exchange a text that has to be there once,
#           name and all.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund diff-match-patch@1.0.5
cat >base.ini <<'INI'
[kitchen]
light = on
heat = 19

[hall]
light = on
heat = 19

[bath]
light = on
heat = 19
INI
sed '/hall/,/heat/s/19/12/' base.ini >mine.ini     # the hall's heat
sed '/hall/,/^$/d' base.ini >theirs.ini            # no hall any more
sed '/kitchen/,/heat/s/19/12/' theirs.ini >got.ini # what comes of it
cat >main.cjs <<'JS'
const fs = require('fs'), Patcher = require('diff-match-patch');
const [base, mine, theirs, known] = ['base', 'mine', 'theirs', 'got'].map(name => fs.readFileSync(name + '.ini', 'utf8'));
const patcher = new Patcher();
const patch = patcher.patch_make(base, mine);
const [got, done] = patcher.patch_apply(patch, theirs);
console.log(`Node: done ${JSON.stringify(done)}\n${got}`);
patcher.Match_Threshold = 0;
const [strict, strictly] = patcher.patch_apply(patch, theirs);
console.log(`Node, Match_Threshold 0: done ${JSON.stringify(strictly)}, changed: ${strict !== theirs}`);
process.exit(got === known && String(done) === 'true' && String(strictly) === 'false' && strict === theirs ? 0 : 1);
JS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/sergi/go-diff/diffmatchpatch"
)

func main() {
	read := func(name string) string {
		text, err := os.ReadFile(name + ".ini")
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	patcher := diffmatchpatch.New()
	got, done := patcher.PatchApply(patcher.PatchMake(read("base"), read("mine")), read("theirs"))
	fmt.Printf("Go: done %v\n%s", done, got)
	if got != read("got") || len(done) != 1 || !done[0] {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/sergi/go-diff@v1.4.0 >/dev/null 2>&1
echo "diff-match-patch 1.0.5, sergi/go-diff v1.4.0, Node $(node --version), $(go version)"
echo "text to patch:"
cat theirs.ini
node main.cjs
go run .
