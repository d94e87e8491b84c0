#!/usr/bin/env bash
# @modelcontextprotocol/server-filesystem 2026.8.31: an edit of one word changes every line of a file from Windows, and its diff hides it.
#
# Guess:    edit_file changes what its edits say, its answer is the difference, and with dryRun it is what would change.
# Behaviour: the ends of all lines become those of Unix, in the file and on both sides of the difference: it shows one line, git
#           shows all. A text that stands three times counts as found: the first is changed, and nothing tells of the others.
# Remedy:   compare the file's bytes before and after; give enough of the text around to be found once.
#
# Needs Node and git. Exits with 1 if the server behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/sdk@1.29.0
cat >main.mjs <<'JS'
import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
const dir = `${process.cwd()}/files`, path = `${dir}/prices.csv`;
mkdirSync(dir);
const before = Array.from({length: 40}, (_, n) => `${n},paint,12\r\n`).join('');
writeFileSync(path, before);
const client = new Client({name: 'a client', version: '1'});
await client.connect(new StdioClientTransport({command: 'node',
  args: ['node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', dir], stderr: 'ignore'}));
const edit = async (oldText, newText) => (await client.callTool({name: 'edit_file',
  arguments: {path, edits: [{oldText, newText}]}})).content[0].text;
const changed = text => text.split('\n').filter(line => /^[-+](?![-+])/.test(line)).length / 2;
const told = changed(await edit('7,paint,12', '7,paint,13'));
const git = () => {
  writeFileSync(`${process.cwd()}/before.csv`, before);
  try {
    execFileSync('git', ['diff', '--no-index', '--numstat', 'before.csv', path]);
    return 0;
  } catch (difference) { // its code is 1 where two files differ
    return Number(difference.stdout.toString().split('\t')[0]);
  }
};
const real = git();
const again = changed(await edit(',paint,12', ',paint,14'));
await client.close();
const left = readFileSync(path, 'utf8').split(',paint,12').length - 1;
console.log(`an edit of one line: ${told} told, ${real} by git, of 40`);
console.log(`an edit of a text that stands 39 times: ${again} told, ${left} left as they were`);
process.exit(told === 1 && real === 40 && again === 1 && left === 38 ? 0 : 1);
JS
echo "@modelcontextprotocol/server-filesystem 2026.8.31, Node $(node --version)"
node main.mjs
