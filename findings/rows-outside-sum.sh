#!/usr/bin/env bash
# exceljs 4.4.0: a row that is inserted into a sheet is in no sum, and a sum below it adds up other cells.
#
# Guess:    insertRow does what "insert row" does in a program for sheets, and excelize's InsertRows in Go: formulas follow their cells.
# Behaviour: the cells move, and each formula stays as it was written. Of a list with its total below, SUM(B2:B3) leaves the last row
#           out once one was inserted between; two more on top, and it adds the heading. A total of another sheet points
#           at the row above. The file opens without a word, and shows a number.
# Remedy:   write the formulas anew behind each insertRow, spliceRows and duplicateRow, or leave rows where they are and append.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund exceljs@4.4.0
cat >main.mjs <<'JS'
import ExcelJS from 'exceljs';
const book = new ExcelJS.Workbook(), sheet = book.addWorksheet('List'), other = book.addWorksheet('Sum');
sheet.addRows([['item', 'EUR'], ['tiles', 10], ['paint', 20], ['total', {formula: 'SUM(B2:B3)', result: 30}]]);
other.getCell('A1').value = {formula: 'List!B4', result: 30};
await book.xlsx.writeFile('before.xlsx');
sheet.insertRow(3, ['nails', 5]);
await book.xlsx.writeFile('after.xlsx');
JS
node main.mjs
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/xuri/excelize/v2"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func tell(name string, book *excelize.File) {
	fmt.Printf("%s: %s, total: %s = %s, on the other sheet: %s = %s\n", name, must(book.GetCellValue("List", "B4")),
		must(book.GetCellFormula("List", "B5")), must(book.CalcCellValue("List", "B5")),
		must(book.GetCellFormula("Sum", "A1")), must(book.CalcCellValue("Sum", "A1")))
}

func main() {
	tell("exceljs", must(excelize.OpenFile("after.xlsx")))
	book := must(excelize.OpenFile("before.xlsx"))
	if err := book.InsertRows("List", 3, 1); err != nil {
		panic(err)
	}
	if err := book.SetSheetRow("List", "A3", &[]any{"nails", 5}); err != nil {
		panic(err)
	}
	tell("excelize", book)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/xuri/excelize/v2@v2.11.1 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >seen
cat >known <<'TXT'
exceljs: 20, total: SUM(B2:B3) = 15, on the other sheet: List!B4 = 20
excelize: 20, total: SUM(B2:B4) = 35, on the other sheet: List!B5 = 35
TXT
echo "exceljs 4.4.0, excelize v2.11.1, Node $(node --version)"
cat seen
cmp seen known
