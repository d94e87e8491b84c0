#!/usr/bin/env bash
# jsonrepair 3.15.0 (Node), kaptinlin/jsonrepair 0.2.15 and RealAlexandreAI/json-repair 0.0.18 (Go): valid JSON comes out as other JSON.
#
# Guess:    a repair leaves valid JSON as it is, so that each answer of a model can go through it.
# Behaviour: signs of damage are looked for inside of strings, too. A list whose last text has "[" at its end gets another list, a
#           line end behind a web address becomes a backslash and an n, a comma at the end of a text in a list is taken away, and
#           a text is cut at a block of code with braces in it. No error: the tool writes another file than the model said.
# Remedy:   parse first, and repair only what does not parse.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund jsonrepair@3.15.0
cat >main.mjs <<'JS'
import {jsonrepair} from 'jsonrepair';
const text = JSON.stringify({lines: ['items = [']});
const out = jsonrepair(text);
console.log('jsonrepair          ', text, '=>', out);
process.exit(JSON.stringify(JSON.parse(out)) === '{"lines":["items =",[""]]}' ? 0 : 1);
JS
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	realalexandre "github.com/RealAlexandreAI/json-repair"
	kaptinlin "github.com/kaptinlin/jsonrepair"
)

func main() {
	kaptin := func(text string) (string, error) { return kaptinlin.Repair(text) }
	same := true
	for _, c := range []struct {
		name      string
		repair    func(string) (string, error)
		from, out map[string]any
	}{
		{"kaptinlin/jsonrepair", kaptin, of("text", "see https://example.org\nand go on"), of("text", `see https://example.org\nand go on`)},
		{"kaptinlin/jsonrepair", kaptin, of("list", []any{"one,", "two"}), of("list", []any{"one", "two"})},
		{"json-repair         ", realalexandre.RepairJSON, of("text", "Write ```json {} ``` there."), of("text", "Write ```json {")},
	} {
		text, err := json.Marshal(c.from)
		if err != nil {
			panic(err)
		}
		out, err := c.repair(string(text))
		fmt.Printf("%s %s => %s, error %v\n", c.name, text, out, err)
		var got map[string]any
		same = same && err == nil && json.Unmarshal([]byte(out), &got) == nil && reflect.DeepEqual(got, c.out)
	}
	if !same {
		os.Exit(1)
	}
}

func of(key string, value any) map[string]any { return map[string]any{key: value} }
GO
go mod init finding >/dev/null 2>&1
go get github.com/kaptinlin/jsonrepair@v0.2.15 github.com/RealAlexandreAI/json-repair@v0.0.18 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "jsonrepair 3.15.0, kaptinlin/jsonrepair v0.2.15, json-repair v0.0.18, Node $(node --version), $(go version)"
node main.mjs
go run .
