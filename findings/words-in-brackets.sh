#!/usr/bin/env bash
# glamour 1.0.0: an answer that speaks of Vec<String> reads Vec in a terminal.
#
# Guess:    a renderer for terminals, which shows no HTML, shows what looks like a tag as it was written; so do converters for
#           Telegram and for Slack.
# Behaviour: <String>, <file> and <your name> are taken for tags and left out, with no trace: "cp <file> <folder>" is "cp". Map<K, V>
#           stays, since it is no tag. In backquotes all stay; models often leave them out.
# Remedy:   escape < in front of a letter, outside of code, before Render.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/glamour"
)

func main() {
	shown, err := glamour.Render(os.Args[1], "notty")
	if err != nil {
		panic(err)
	}
	fmt.Println("glamour:", strings.Join(strings.Fields(shown), " "))
}
GO
said='Take a Vec<String> or Map<K, V>, and cp <file> <folder>, or `cp <file>`.'
go mod init finding >/dev/null 2>&1
go get github.com/charmbracelet/glamour@v1.0.0 >/dev/null 2>&1
go run . "$said" >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund telegramify-markdown@1.3.3 marked@18.2.1 marked-terminal@7.3.1
cat >main.mjs <<'JS'
import {marked} from 'marked';
import {markedTerminal} from 'marked-terminal';
import telegramify from 'telegramify-markdown';
marked.use(markedTerminal());
const plain = text => text.replace(/\x1b\[[0-9;]*m/g, '').replaceAll('\\', '').trim();
console.log('marked-terminal:', plain(marked.parse(process.argv[2])));
console.log('telegramify-markdown:', plain(telegramify(process.argv[2], 'escape')));
JS
node main.mjs "$said" >>seen
cat >known <<'TXT'
glamour: Take a Vec or Map<K, V>, and cp , or cp <file>.
marked-terminal: Take a Vec<String> or Map<K, V>, and cp <file> <folder>, or cp <file>.
telegramify-markdown: Take a Vec<String> or Map<K, V>, and cp <file> <folder>, or `cp <file>`.
TXT
echo "glamour v1.0.0, marked-terminal 7.3.1, telegramify-markdown 1.3.3; said: $said"
cat seen
cmp seen known
