#!/usr/bin/env bash
# html-to-text 10.0.1 (Node), jaytaylor/html2text of 2023-03-21 (Go): a code in a mail's heading comes out as another one.
#
# Guess:    the text of a page has the page's words; only marks of headings and tables are made.
# Behaviour: html-to-text writes headings, and a data table's headings, in capitals: "Your code: aB3xQ" is "YOUR CODE: AB3XQ", which
#           the site refuses, and /notes/Plan.md is /NOTES/PLAN.MD. html2text does so in pretty tables, where "max_tokens" becomes
#           "MAX TOKENS". What was small can't be told any more, and a model copies what it reads.
# Remedy:   html-to-text: uppercase: false for each of h1 to h6, uppercaseHeaderCells: false. html2text: no PrettyTables, or
#           AutoFormatHeader: false.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund html-to-text@10.0.1
cat >mail.html <<'HTML'
<h1>Your code: aB3xQ</h1>
<p>It opens <b>/notes/Plan.md</b>.</p>
<h2>Changes to /notes/Plan.md</h2>
<table><tr><th>max_tokens</th><th>userId</th></tr><tr><td>4096</td><td>aB3xQ</td></tr></table>
HTML
cat >main.mjs <<'JS'
import fs from 'node:fs';
import {convert} from 'html-to-text';
const mail = fs.readFileSync('mail.html', 'utf8');
const tables = {selector: 'table', format: 'dataTable'};
const got = convert(mail, {selectors: [tables]});
console.log(`html-to-text:\n${got}\n`);
const headings = ['h1', 'h2'].map(selector => ({selector, options: {uppercase: false}}));
const mended = convert(mail, {selectors: [...headings, {...tables, options: {uppercaseHeaderCells: false}}]});
const has = (text, ...words) => words.every(word => text.includes(word));
const lost = has(got, 'YOUR CODE: AB3XQ', 'CHANGES TO /NOTES/PLAN.MD', 'MAX_TOKENS', 'USERID') && !has(got, 'code: aB3xQ');
process.exit(lost && has(mended, 'Your code: aB3xQ', 'Changes to /notes/Plan.md', 'max_tokens', 'userId') ? 0 : 1);
JS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jaytaylor/html2text"
)

func main() {
	mail, err := os.ReadFile("mail.html")
	if err != nil {
		panic(err)
	}
	got, err := html2text.FromString(string(mail), html2text.Options{PrettyTables: true})
	if err != nil {
		panic(err)
	}
	fmt.Printf("html2text, PrettyTables:\n%s\n", got)
	if !strings.Contains(got, "| MAX TOKENS | USERID |") || !strings.Contains(got, "Your code: aB3xQ") {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/jaytaylor/html2text@v0.0.0-20230321000545-74c2419ad056 github.com/olekukonko/tablewriter@v0.0.5 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "html-to-text 10.0.1, html2text 74c2419ad056, Node $(node --version), $(go version)"
cat mail.html
node main.mjs
go run .
