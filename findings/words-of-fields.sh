#!/usr/bin/env bash
# mammoth 1.13.0, officeparser 8.1.1: of a Word document, a price and a name that Word filled in are missing, and -5 degrees are 5.
#
# Guess:    the text of a document has what stands on its pages: what a field shows is text, as much as what was typed, and a hyphen
#           that keeps a line together is a hyphen.
# Behaviour: mammoth leaves out what a simple field (w:fldSimple) shows: the name of a client that comes from the file's properties, a
#           sum, "Table 3", the number of a clause. "The fee is  EUR." reads like a slip of the author; a list of messages beside it,
#           which few readers look at, tells of it. officeparser leaves out the hyphen that does not break (w:noBreakHyphen).
#           Each library has what the other lacks.
# Remedy:   look into messages of mammoth for "w:fldSimple", and refuse or take the fields' runs out of the XML before.
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund mammoth@1.13.0 officeparser@8.1.1 jszip@3.10.2
cat >main.mjs <<'JS'
import JSZip from 'jszip';
import mammoth from 'mammoth';
import {OfficeParser} from 'officeparser';
const head = '<?xml version="1.0" encoding="UTF-8"?>', office = 'application/vnd.openxmlformats-';
const schemas = 'http://schemas.openxmlformats.org';
const run = text => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
const field = (code, text) => `<w:fldSimple w:instr=" ${code} ">${run(text)}</w:fldSimple>`;
const paragraphs = [
  run('The fee of ') + field('DOCPROPERTY Client', 'the mill') + run(' is ') + field('=SUM(ABOVE)', '500') + run(' EUR.'),
  run('Keep it at ') + '<w:r><w:noBreakHyphen/></w:r>' + run('5 degrees.'),
];
const zip = new JSZip();
zip.file('[Content_Types].xml', `${head}<Types xmlns="${schemas}/package/2006/content-types">
<Default Extension="rels" ContentType="${office}package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="${office}officedocument.wordprocessingml.document.main+xml"/></Types>`);
zip.file('_rels/.rels', `${head}<Relationships xmlns="${schemas}/package/2006/relationships"><Relationship Id="rId1"
Type="${schemas}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`);
zip.file('word/document.xml', `${head}<w:document xmlns:w="${schemas}/wordprocessingml/2006/main"><w:body>
${paragraphs.map(inner => `<w:p>${inner}</w:p>`).join('')}</w:body></w:document>`);
const buffer = await zip.generateAsync({type: 'nodebuffer'});
const raw = await mammoth.extractRawText({buffer});
const parsed = await OfficeParser.parseOffice(buffer);
const seen = {
  mammoth: raw.value.trim().split(/\n+/),
  officeparser: parsed.content.map(part => part.text),
};
console.log(seen, raw.messages.map(({type, message}) => `${type}: ${message}`));
const [fee, cold] = seen.mammoth, [otherFee, otherCold] = seen.officeparser;
process.exit(fee === 'The fee of  is  EUR.' && cold === 'Keep it at \u20115 degrees.' && otherFee === 'The fee of the mill is 500 EUR.'
  && otherCold === 'Keep it at 5 degrees.' && parsed.warnings.length === 0 ? 0 : 1);
JS
echo "mammoth 1.13.0, officeparser 8.1.1, Node $(node --version)"
node main.mjs
