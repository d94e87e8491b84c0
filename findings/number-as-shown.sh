#!/usr/bin/env bash
# xlsx 0.18.5 (SheetJS), excelize 2.11.1: a sheet's text has a debt without its minus, millions as 1.2, and an account number in part.
#
# Guess:    sheet_to_csv and GetRows give what the cells hold; a format of money or of dates may touch how a number looks, not what it is.
# Behaviour: they give what a cell shows, as far as plain text can. A debt that Excel shows red and without a minus (a format of its
#           own list) is a credit of the same height. "In millions" takes six digits away, "0%" turns 12.5 % into 13 %, and a
#           number of 16 digits ends in E+15. It is the text that is given to a model, or added up. xlsx' sheet_to_json, exceljs and
#           read-excel-file give the values.
# Remedy:   GetRows(sheet, excelize.Options{RawCellValue: true}); sheet_to_csv(sheet, {rawNumbers: true}); mind dates, then numbers too.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund exceljs@4.4.0 xlsx@0.18.5 read-excel-file@9.3.17
cat >main.mjs <<'JS'
import ExcelJS from 'exceljs';
import readExcel from 'read-excel-file/node';
import XLSX from 'xlsx';
const book = new ExcelJS.Workbook(), sheet = book.addWorksheet('S');
const cells = [[-1234.5, '#,##0.00;[Red]#,##0.00'], [1234567, '#,##0.0,,'], [0.125, '0%'], [4111111111111111, 'General']];
cells.forEach(([value, format], row) => Object.assign(sheet.getCell(row + 1, 1), {value, numFmt: format}));
await book.xlsx.writeFile('book.xlsx');
const read = XLSX.readFile('book.xlsx').Sheets.S;
const column = rows => rows.map(row => row[0]).join(' | ');
console.log('sheet_to_csv:', XLSX.utils.sheet_to_csv(read, {FS: ';'}).trim().split('\n').join(' | '));
console.log('sheet_to_csv, rawNumbers:', XLSX.utils.sheet_to_csv(read, {FS: ';', rawNumbers: true}).trim().split('\n').join(' | '));
console.log('sheet_to_json:', column(XLSX.utils.sheet_to_json(read, {header: 1})));
const sheets = await readExcel('book.xlsx');
console.log('read-excel-file:', column(sheets[0].data));
JS
node main.mjs >seen
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"
)

func main() {
	book, err := excelize.OpenFile("book.xlsx")
	if err != nil {
		panic(err)
	}
	for _, raw := range []bool{false, true} {
		rows, err := book.GetRows("S", excelize.Options{RawCellValue: raw})
		if err != nil {
			panic(err)
		}
		cells := []string{}
		for _, row := range rows {
			cells = append(cells, row[0])
		}
		fmt.Printf("GetRows, RawCellValue %v: %s\n", raw, strings.Join(cells, " | "))
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/xuri/excelize/v2@v2.11.1 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >>seen
cat >known <<'TXT'
sheet_to_csv: 1,234.50 | 1.2 | 13% | 4.11111E+15
sheet_to_csv, rawNumbers: -1234.5 | 1234567 | 0.125 | 4111111111111111
sheet_to_json: -1234.5 | 1234567 | 0.125 | 4111111111111111
read-excel-file: -1234.5 | 1234567 | 0.125 | 4111111111111111
GetRows, RawCellValue false: 1,234.50 | 1.2 | 13% | 4.11111111111111E+15
GetRows, RawCellValue true: -1234.5 | 1234567 | 0.125 | 4111111111111111
TXT
echo "xlsx 0.18.5, excelize v2.11.1, exceljs 4.4.0, read-excel-file 9.3.17, Node $(node --version)"
cat seen
cmp seen known
