#!/usr/bin/env bash
# @langchain/textsplitters 1.0.2: in the chunks of a program, a statement under a condition stands without it.
#
# Guess:    a splitter for Python or Markdown cuts between lines, and a chunk's lines are the file's lines.
# Behaviour: each chunk is trimmed. Its first line loses its indentation, and the others keep theirs: `delete(old)` under two conditions
#           reads as one that always runs, a method as a function, a point of a point as a point; what YAML says of the hall
#           belongs to nothing. metadata.loc names the right lines, so that an edit by them writes the wrong text.
# Remedy:   take the lines that metadata.loc names from the file itself.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @langchain/core@1.4.0 @langchain/textsplitters@1.0.2
cat >main.mjs <<'JS'
import {RecursiveCharacterTextSplitter} from '@langchain/textsplitters';
const size = {chunkSize: 60, chunkOverlap: 0};
const program = `def tidy(old):
    if old.expired:
        if not old.kept:
            log("it is older than a year")
            delete(old)
`;
const settings = `kitchen:
  heat: 19
  light: on, from six to nine in the evening
hall:
  light: off, but for the one beside the door
  heat: 12
`;
const moved = [];
for (const [name, splitter, text] of [['python', RecursiveCharacterTextSplitter.fromLanguage('python', size), program],
  ['yaml', new RecursiveCharacterTextSplitter(size), settings]]) {
  const lines = text.split('\n');
  for (const {pageContent, metadata: {loc: {lines: {from}}}} of await splitter.createDocuments([text])) {
    const first = pageContent.split('\n')[0];
    console.log(`${name}, line ${from}:\n${pageContent}`);
    if (lines[from - 1] !== first && lines[from - 1].trim() === first) moved.push(`${name} ${from}: ${first}`);
  }
}
console.log('first lines that stand elsewhere in the file:', moved);
const known = ['python 4: log("it is older than a year")', 'python 5: delete(old)',
  'yaml 3: light: on, from six to nine in the evening', 'yaml 5: light: off, but for the one beside the door'];
process.exit(JSON.stringify(moved) === JSON.stringify(known) ? 0 : 1);
JS
echo "@langchain/textsplitters 1.0.2, Node $(node --version)"
node main.mjs
