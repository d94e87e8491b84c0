#!/usr/bin/env bash
# turndown 7.2.5, html-to-markdown 2.5.2: step 7 of a page is step 1 in Markdown, clause (b) is 2, and a choice of three is one word.
#
# Guess:    an ordered list has the numbers that a browser shows; what a page says elsewhere ("see step 7", "as in (b)", "you chose
#           Green") can be found in its Markdown.
# Behaviour: only the start of a list is read. <li value="7">, which follows a picture or a remark between two steps, counts from 1, a
#           list that counts down counts up, and letters become numbers. The options of a choice stand in one word without the one
#           that is chosen. A quotation in <q> has no marks: "He said stop." A model reads other numbers than people do.
#           html-to-text has letters, and no other of these.
# Remedy:   write value, type, reversed and the chosen option into the tree as text before it is converted.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >page.html <<'HTML'
<ol><li value="7">Pull</li><li>Push</li></ol><p>Second list:</p>
<ol reversed><li>Bronze</li><li>Silver</li></ol><p>Third list:</p>
<ol type="a"><li>Rent</li><li>Heat</li></ol>
<p><select><option>Red</option><option selected>Green</option><option>Blue</option></select></p>
<p>He said <q>stop</q>.</p>
HTML
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	markdown "github.com/JohannesKaufmann/html-to-markdown/v2"
)

func main() {
	page, err := os.ReadFile("page.html")
	if err != nil {
		panic(err)
	}
	text, err := markdown.ConvertString(string(page))
	fmt.Println("html-to-markdown:", strings.Join(strings.Fields(text), " "), err)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/JohannesKaufmann/html-to-markdown/v2@v2.5.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund turndown@7.2.5 html-to-text@10.0.1
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import {convert} from 'html-to-text';
import Turndown from 'turndown';
const page = readFileSync('page.html', 'utf8');
for (const [name, text] of [['turndown', new Turndown().turndown(page)], ['html-to-text', convert(page)]])
  console.log(`${name}:`, text.split(/\s+/).join(' ').trim(), '<nil>');
JS
node main.mjs >>seen
cat >known <<'TXT'
html-to-markdown: 1. Pull 2. Push Second list: 1. Bronze 2. Silver Third list: 1. Rent 2. Heat RedGreenBlue He said stop. <nil>
turndown: 1. Pull 2. Push Second list: 1. Bronze 2. Silver Third list: 1. Rent 2. Heat RedGreenBlue He said stop. <nil>
html-to-text: 1. Pull 2. Push Second list: 1. Bronze 2. Silver Third list: a. Rent b. Heat RedGreenBlue He said stop. <nil>
TXT
echo "turndown 7.2.5, html-to-markdown v2.5.2, html-to-text 10.0.1, Node $(node --version)"
cat seen
cmp seen known
