#!/usr/bin/env bash
# @modelcontextprotocol/server-memory 2026.8.31: of several calls in one answer, the memory keeps the last.
#
# Guess:    each create_entities that is answered with its entity has stored it; the server writes its file by a rename, so that
#           nothing is lost.
# Behaviour: each call reads the file, adds to it and writes all of it, and none waits for another. A model that calls a tool five
#           times in one answer is told five times that its entity was created; most of the five are gone.
# Remedy:   one call at a time for a server that is not known to take more: the annotations of the tool do not tell. Or give all
#           entities in one call.
#
# Needs Node. Exits with 1 if the server behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/sdk@1.29.0
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
const names = ['boat', 'shed', 'roof', 'well', 'gate'];
const run = async (file, each) => {
  const client = new Client({name: 'a client', version: '1'});
  await client.connect(new StdioClientTransport({command: 'node',
    args: ['node_modules/@modelcontextprotocol/server-memory/dist/index.js'],
    env: {PATH: process.env.PATH, MEMORY_FILE_PATH: file}, stderr: 'ignore'}));
  const call = name => client.callTool({name: 'create_entities',
    arguments: {entities: [{name, entityType: 'thing', observations: [`the ${name} is to be painted`]}]}});
  const told = (await each(call)).filter(r => !r.isError).flatMap(r => r.structuredContent.entities).length;
  await client.close();
  return [told, readFileSync(file, 'utf8').trim().split('\n').length];
};
const oneByOne = await run(`${process.cwd()}/a.jsonl`, async call => {
  const results = [];
  for (const name of names) results.push(await call(name));
  return results;
});
const together = await run(`${process.cwd()}/b.jsonl`, call => Promise.all(names.map(call)));
console.log('one by one: told', oneByOne[0], 'stored', oneByOne[1]);
console.log('in one answer: told', together[0], 'stored', together[1]);
process.exit(oneByOne[0] === 5 && oneByOne[1] === 5 && together[0] === 5 && together[1] < 5 ? 0 : 1);
JS
echo "@modelcontextprotocol/server-memory 2026.8.31, Node $(node --version)"
node main.mjs
