#!/usr/bin/env bash
# turndown-plugin-gfm 1.0.2, Joplin's 1.0.68 and node-html-markdown 2.0.0: below a cell of two rows, values stand under other headings.
#
# Guess:    a table with rowspan gets an empty cell in Markdown, or stays HTML, since Markdown has no such cell.
# Behaviour: the cells of the second row move to the left: the price of a month stands under "Plan", that of a year under "Month".
#           A model that reads a price list, a timetable or a comparison answers with another column's number, and nothing in
#           the text shows it. html-to-text 10.0.1 keeps the columns.
# Remedy:   repeat cells with rowspan and colspan in the tree before it is converted.
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund turndown@7.2.5 turndown-plugin-gfm@1.0.2 \
  @joplin/turndown-plugin-gfm@1.0.68 node-html-markdown@2.0.0 html-to-text@10.0.1
cat >main.mjs <<'JS'
import Turndown from 'turndown';
import * as gfm from 'turndown-plugin-gfm';
import * as joplin from '@joplin/turndown-plugin-gfm';
import {NodeHtmlMarkdown} from 'node-html-markdown';
import {convert} from 'html-to-text';
const page = `<table><thead><tr><th>Plan</th><th>Month</th><th>Year</th></tr></thead><tbody>
<tr><td rowspan="2">Basic</td><td>5 euros</td><td>50 euros</td></tr><tr><td>6 dollars</td><td>60 dollars</td></tr></tbody></table>`;
const texts = {
  'turndown-plugin-gfm': new Turndown().use(gfm.gfm).turndown(page),
  '@joplin/turndown-plugin-gfm': new Turndown().use(joplin.gfm).turndown(page),
  'node-html-markdown': NodeHtmlMarkdown.translate(page),
  'html-to-text': convert(page, {selectors: [{selector: 'table', format: 'dataTable'}]}),
};
let moved = true;
for (const [name, text] of Object.entries(texts)) {
  console.log(`${name}:\n${text}`);
  const last = text.trimEnd().split('\n').at(-1).split(name === 'html-to-text' ? /\s{2,}/ : /\s*\|\s*/);
  moved &&= last[1] === '6 dollars' && (name !== 'html-to-text' || last[0] === '');
}
process.exit(moved ? 0 : 1);
JS
echo "turndown 7.2.5 with two plugins, node-html-markdown 2.0.0, html-to-text 10.0.1, Node $(node --version)"
node main.mjs
