#!/usr/bin/env bash
# ledongthuc/pdf 2026-09-07: filled fields and pages set into others have no text, and the words of justified text are one.
#
# Guess:    GetPlainText returns the words that the page shows, or an error.
# Behaviour: only text in the page's own stream is read. What a form draws, as pdf-lib makes one of an embedded page and of a
#           flattened field, and what stands in a field is left out: "" without an error. Justified text of PDFKit, whose
#           words are set apart without a space, comes out as one word each line but the last.
# Remedy:   follow Do and the appearances of fields, and put a space where the gap is wide, by the positions of Content().
#
# Needs Go and Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund pdf-lib@1.17.1 pdfkit@0.20.2
cat >make.mjs <<'JS'
import {createWriteStream, writeFileSync} from 'node:fs';
import PDFKit from 'pdfkit';
import {PDFDocument} from 'pdf-lib';
const plain = await PDFDocument.create();
plain.addPage([300, 300]).drawText('Pay 120 euros', {x: 20, y: 200});
writeFileSync('1-plain.pdf', await plain.save());
const outer = await PDFDocument.create();
const [inner] = await outer.embedPdf(await plain.save());
outer.addPage([300, 300]).drawPage(inner);
writeFileSync('2-embedded.pdf', await outer.save());
const form = await PDFDocument.create();
const field = form.getForm().createTextField('sum');
field.setText('120 euros');
field.addToPage(form.addPage([300, 300]), {x: 20, y: 200});
writeFileSync('3-filled.pdf', await form.save());
form.getForm().flatten();
writeFileSync('4-flattened.pdf', await form.save());
const justified = new PDFKit();
justified.pipe(createWriteStream('5-justified.pdf'));
justified.text('Several words fill this line and go on to the next', {align: 'justify', width: 150});
justified.end();
JS
node make.mjs
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ledongthuc/pdf"
)

func main() {
	seen := []string{"Pay 120 euros", "", "", "", "Severalwordsfillthisline\nand go on to the next"}
	same := true
	for i, name := range os.Args[1:] {
		file, document, err := pdf.Open(name)
		if err != nil {
			panic(err)
		}
		text, err := document.Page(1).GetPlainText(nil)
		if err != nil {
			panic(err)
		}
		file.Close()
		fmt.Printf("%s: %q\n", name, text)
		same = same && strings.TrimSpace(text) == seen[i]
	}
	if !same {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ledongthuc/pdf@v0.0.0-20260907135840-6c8c28e0e8a0 >/dev/null 2>&1
echo "pdf v0.0.0-20260907135840-6c8c28e0e8a0, pdf-lib 1.17.1, PDFKit 0.20.2, $(go version)"
go run . ./*.pdf
