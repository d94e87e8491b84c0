#!/usr/bin/env bash
# js-yaml 5.5.0, yaml 2.9.1 against go-yaml 3.0.5: settings that a YAML file shares by "<<" are not there, and the number 0123 is 83.
#
# Guess:    one file of settings is one set of values to a daemon in Go and to its tools in Node: both use the library that all use.
# Behaviour: "<<: *base" is a merge for go-yaml, and was one for js-yaml up to 4. js-yaml 5 and yaml make a key of that name, without an
#           error: what stands in base is undefined in bot, so that a program goes on with its own defaults. A number that begins with 0 is
#           read to the base of 8 in Go, of 10 in Node: 0123 is 83 or 123, 0189 is 189 in both, 1_000 a number or a text.
# Remedy:   parse(text, {merge: true}) of yaml, schema: CORE_SCHEMA.withTags(mergeTag) in js-yaml; quotes around what is no number; no "<<".
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >settings.yaml <<'YAML'
base: &base
  limit: 3
  room: kitchen
bot:
  <<: *base
  room: mill
ids: [0123, 0189, 1_000]
YAML
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

func main() {
	text, err := os.ReadFile("settings.yaml")
	if err != nil {
		panic(err)
	}
	var settings map[string]any
	if err := yaml.Unmarshal(text, &settings); err != nil {
		panic(err)
	}
	bot := settings["bot"].(map[string]any)
	ids, err := json.Marshal(settings["ids"])
	fmt.Println("go-yaml 3.0.5: limit", bot["limit"], "of", bot["room"], "ids", string(ids), err)
}
GO
go mod init finding >/dev/null 2>&1
go get go.yaml.in/yaml/v3@v3.0.5 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund js-yaml@5.5.0 js-yaml-4@npm:js-yaml@4.1.0 yaml@2.9.1
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import {CORE_SCHEMA, load, mergeTag} from 'js-yaml';
import {load as load4} from 'js-yaml-4';
import {parse} from 'yaml';
const text = readFileSync('settings.yaml', 'utf8');
const read = {'js-yaml 4.1.0': load4, 'js-yaml 5.5.0': load, 'yaml 2.9.1': parse, 'yaml, merge': text => parse(text, {merge: true}),
  'js-yaml, mergeTag': text => load(text, {schema: CORE_SCHEMA.withTags(mergeTag)})};
for (const [name, of] of Object.entries(read)) {
  const {bot, ids} = of(text);
  console.log(`${name}: limit ${bot.limit} of ${bot.room} ids ${JSON.stringify(ids)}`);
}
JS
node main.mjs >>seen
cat >known <<'TXT'
go-yaml 3.0.5: limit 3 of mill ids [83,189,1000] <nil>
js-yaml 4.1.0: limit 3 of mill ids [123,189,1000]
js-yaml 5.5.0: limit undefined of mill ids [123,189,"1_000"]
yaml 2.9.1: limit undefined of mill ids [123,189,"1_000"]
yaml, merge: limit 3 of mill ids [123,189,"1_000"]
js-yaml, mergeTag: limit 3 of mill ids [123,189,"1_000"]
TXT
echo "js-yaml 5.5.0 and 4.1.0, yaml 2.9.1, go-yaml v3.0.5, Node $(node --version)"
cat seen
cmp seen known
