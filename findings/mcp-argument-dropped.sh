#!/usr/bin/env bash
# MCP's SDK for TypeScript 1.32.2: an argument with a misspelt name is dropped, and the tool runs with the default.
#
# Guess:    a server refuses an argument that its schema does not list, or hands it to the tool, as the schema it shows allows it:
#           additionalProperties is not false there.
# Behaviour: registerTool lets the arguments be read by a type that takes out what it does not know. A model that writes
#           dry_run: true for dryRun gets a success, of a run that was not dry. Neither side is told of it.
# Remedy:   inputSchema: z.strictObject({…}) in the server; in a client, check the names against properties before the call.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >main.mjs <<'JS'
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {InMemoryTransport} from '@modelcontextprotocol/sdk/inMemory.js';
import {McpServer} from '@modelcontextprotocol/sdk/server/mcp.js';
import {z} from 'zod';
const fields = {path: z.string(), dryRun: z.boolean().default(false)};
const server = new McpServer({name: 'files', version: '1'});
const told = async ({dryRun}) => ({content: [{type: 'text', text: dryRun ? 'would remove it' : 'removed it'}]});
server.registerTool('plain', {description: 'remove', inputSchema: fields}, told);
server.registerTool('strict', {description: 'remove', inputSchema: z.strictObject(fields)}, told);
const [near, far] = InMemoryTransport.createLinkedPair();
await server.connect(far);
const client = new Client({name: 'caller', version: '1'});
await client.connect(near);
const closed = {}, answers = {};
for (const {name, inputSchema} of (await client.listTools()).tools) {
  closed[name] = inputSchema.additionalProperties === false;
  const answer = await client.callTool({name, arguments: {path: '/srv', dry_run: true}});
  answers[name] = {refused: answer.isError === true, text: answer.content[0].text.slice(0, 60)};
  console.log(name, 'closed schema:', closed[name], answers[name]);
}
const plain = !closed.plain && !answers.plain.refused && answers.plain.text === 'removed it';
process.exit(plain && closed.strict && answers.strict.refused ? 0 : 1);
JS
echo "@modelcontextprotocol/sdk 1.32.2, zod 4.6.7, Node $(node --version)"
node main.mjs
