#!/usr/bin/env bash
# html-to-markdown 2.5.2: 10<sup>9</sup> becomes 109, and a ticked item of a list looks like an open one.
#
# Guess:    what Markdown has no mark for is kept as HTML, which Markdown allows, or spelt out; "- [x]" is made of a checked box.
# Behaviour: with the plugins for CommonMark, tables and strokes, only the text of <sup> and <sub> is left, as if it had stood in
#           the line: 10<sup>-3</sup> is 10-3. The boxes of a list vanish. No error tells it, and numbers are wrong.
# Remedy:   register renderers for sup, sub and input.
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
	"fmt"
	"os"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

func main() {
	convert := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin(),
	))
	for _, one := range []struct{ html, seen string }{
		{"<p>10<sup>9</sup> rows, 10<sup>-3</sup> s, a<sub>12</sub></p>", "109 rows, 10-3 s, a12"},
		{`<ul><li><input type="checkbox" checked> pay</li><li><input type="checkbox"> call</li></ul>`, "- pay\n- call"},
	} {
		text, err := convert.ConvertString(one.html)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n  %q\n", one.html, text)
		if text != one.seen {
			os.Exit(1)
		}
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/JohannesKaufmann/html-to-markdown/v2@v2.5.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "html-to-markdown v2.5.2, $(go version)"
go run .
