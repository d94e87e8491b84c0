#!/usr/bin/env bash
# rss-parser 3.13.0: in an Atom feed with XHTML, each emphasised word is at the end of its sentence, and a title is no text.
#
# Guess:    the content of an entry has its words in their order, whatever of the three types of RFC 4287 it has; a title is a text.
# Behaviour: XHTML is read into an object by the names of tags, and written from it: the text first, then the elements. "Do <b>not</b>
#           press the red button" is "Do press the red button.not", in content and contentSnippet, without an error. A
#           title of that type is an object. feedsmith and gofeed keep both.
# Remedy:   another reader, or customFields and the text of the feed itself, where type="xhtml" is.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >feed.xml <<'XML'
<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>Notes of the mill</title><id>urn:example:mill</id><updated>2026-03-04T10:00:00Z</updated>
  <entry>
    <id>urn:example:mill:1</id><updated>2026-03-04T10:00:00Z</updated><author><name>Ada</name></author>
    <link href="https://example.org/1"/>
    <title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <i>new</i> press</div></title>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Do <b>not</b> press the red button.</p></div></content>
  </entry>
</feed>
XML
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/mmcdole/gofeed"
)

func main() {
	feed, err := gofeed.NewParser().Parse(os.Stdin)
	if err != nil {
		panic(err)
	}
	fmt.Println("gofeed:", feed.Items[0].Title, "|", feed.Items[0].Content)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/mmcdole/gofeed@v1.4.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . <feed.xml >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund rss-parser@3.13.0 feedsmith@3.0.1
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import {parseFeed} from 'feedsmith';
import Parser from 'rss-parser';
const xml = readFileSync('feed.xml', 'utf8');
const {title, content} = parseFeed(xml).feed.entries[0];
console.log('feedsmith:', title.value, '|', content.value);
const item = (await new Parser().parseString(xml)).items[0];
console.log('rss-parser:', typeof item.title, '|', item.contentSnippet);
JS
node main.mjs >>seen
cat >known <<'TXT'
gofeed: The <i>new</i> press | <p>Do <b>not</b> press the red button.</p>
feedsmith: The <i>new</i> press | <p>Do <b>not</b> press the red button.</p>
rss-parser: object | Do  press the red button.not
TXT
echo "rss-parser 3.13.0, feedsmith 3.0.1, gofeed v1.4.2, Node $(node --version)"
cat seen
cmp seen known
