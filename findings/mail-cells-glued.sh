#!/usr/bin/env bash
# mailparser 3.14.2 (html-to-text): of a mail in HTML alone, 12 tiles at 30 in a table read 1230.
#
# Guess:    the text that a parser makes of an HTML mail has a space or a line between two cells, and a mark at what is crossed out.
# Behaviour: the cells of a row follow each other without anything, and the rows too: numbers of two columns are one number,
#           and nothing tells where a row ends. A price that is crossed out stands like the one that counts. It is the text
#           that a program, or a model, reads first; mail.html has it all. html-to-text sets tables apart only if asked to, and
#           mailparser does not ask. enmime for Go keeps cells apart.
# Remedy:   make the text of mail.html yourself: convert(html, {selectors: [{selector: 'table', format: 'dataTable'}]}).
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
{
	printf 'From: shop@example.org\r\nTo: ada@example.org\r\nSubject: Your order\r\nMIME-Version: 1.0\r\n'
	printf 'Content-Type: text/html; charset=utf-8\r\n\r\n'
	printf '<p>Now <del>90</del> 80 EUR.</p>\r\n<table><tr><td>Tiles</td><td>12</td><td>30</td></tr>'
	printf '<tr><td>Nails</td><td>5</td><td>7</td></tr></table>\r\n'
} >mail.eml
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jhillyerd/enmime/v2"
)

func main() {
	mail, err := enmime.ReadEnvelope(os.Stdin)
	if err != nil {
		panic(err)
	}
	fmt.Println("enmime:", strings.Join(strings.Fields(mail.Text), " "))
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/jhillyerd/enmime/v2@v2.3.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . <mail.eml >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund mailparser@3.14.2 html-to-text@10.0.1
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import {convert} from 'html-to-text';
import {simpleParser} from 'mailparser';
const mail = await simpleParser(readFileSync('mail.eml'));
const line = text => text.split(/\s+/).join(' ').trim();
console.log('mailparser:', line(mail.text));
console.log('html-to-text, asked to:', line(convert(mail.html, {selectors: [{selector: 'table', format: 'dataTable'}]})));
JS
node main.mjs >>seen
cat >known <<'TXT'
enmime: Now 90 80 EUR. Tiles 12 30 Nails 5 7
mailparser: Now 90 80 EUR. Tiles1230Nails57
html-to-text, asked to: Now 90 80 EUR. Tiles 12 30 Nails 5 7
TXT
echo "mailparser 3.14.2, html-to-text 10.0.1, enmime v2.3.0, Node $(node --version)"
cat seen
cmp seen known
