#!/usr/bin/env bash
# MCP's SDK for TypeScript 1.32.2: a resource whose name has a space is not found, nor one with an optional part left out.
#
# Guess:    a server's template takes what a client's template makes, as both are RFC 6570: {title} comes as it was given, and
#           {?word,most} may have one of the two.
# Behaviour: the handler gets "paint%20list" for "paint list", and looks in vain. An address with word alone, which the
#           client's own expand makes of the listed template, is "not found"; so is one with the two in another order.
# Remedy:   decodeURIComponent each variable in the handler; one template for each set of parts.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2
cat >main.mjs <<'JS'
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {InMemoryTransport} from '@modelcontextprotocol/sdk/inMemory.js';
import {McpServer, ResourceTemplate} from '@modelcontextprotocol/sdk/server/mcp.js';
import {UriTemplate} from '@modelcontextprotocol/sdk/shared/uriTemplate.js';
const server = new McpServer({name: 'notes', version: '1'});
for (const uri of ['note://by-title/{title}', 'note://find{?word,most}']) {
  server.registerResource(uri, new ResourceTemplate(uri, {list: undefined}), {}, (asked, variables) =>
    ({contents: [{uri: asked.href, text: Object.values(variables).join()}]}));
}
const [near, far] = InMemoryTransport.createLinkedPair();
await server.connect(far);
const client = new Client({name: 'a client', version: '1'});
await client.connect(near);
const [title, find] = (await client.listResourceTemplates()).resourceTemplates.map(t => new UriTemplate(t.uriTemplate));
const read = uri => client.readResource({uri}).then(r => r.contents[0].text, e => /not found/.test(e.message) && 'not found');
const seen = {};
for (const uri of [title.expand({title: 'boat'}), title.expand({title: 'paint list'}), find.expand({word: 'red', most: '3'}),
  find.expand({word: 'red'}), 'note://find?most=3&word=red']) {
  seen[uri] = await read(uri);
  console.log(uri, 'gives', seen[uri]);
}
const known = {'note://by-title/boat': 'boat', 'note://by-title/paint%20list': 'paint%20list',
  'note://find?word=red&most=3': 'red,3', 'note://find?word=red': 'not found', 'note://find?most=3&word=red': 'not found'};
process.exit(JSON.stringify(seen) === JSON.stringify(known) ? 0 : 1);
JS
echo "@modelcontextprotocol/sdk 1.32.2, Node $(node --version)"
node main.mjs
