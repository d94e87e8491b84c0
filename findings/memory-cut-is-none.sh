#!/usr/bin/env bash
# mem0ai 3.3.1: an extraction that the token limit cut off is "nothing to remember", and all of its memories are gone.
#
# Guess:    add() throws where the model's answer is not whole, or keeps the memories that it holds; it throws where the model
#           cannot be reached.
# Behaviour: finish_reason is not looked at. An answer cut within its second memory gives {results: []} without an error or a
#           warning, like that of a talk with nothing in it; the first, whole one is dropped, too. The longer a talk, the longer
#           its list, the likelier that nothing of it is remembered.
# Remedy:   short messages a call, a model without a limit on its answer, and a count of add() that stored nothing.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund mem0ai@3.3.1 @langchain/classic@1.0.50 @langchain/core@1.4.0
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import {MemoryVectorStore} from '@langchain/classic/vectorstores/memory';
import {Memory} from 'mem0ai/oss';
const choice = {};
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const usage = {prompt_tokens: 1, completion_tokens: 1, total_tokens: 2};
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(request.url.includes('embeddings')
    ? {object: 'list', model: 'm', usage, data: [].concat(JSON.parse(body).input).map((_, index) => ({object: 'embedding', index, embedding: [1, 0]}))}
    : {id: 'c', object: 'chat.completion', created: 1, model: 'm', usage, choices: [{index: 0, ...choice}]}));
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const config = {apiKey: 'none', model: 'm', baseURL: `http://127.0.0.1:${server.address().port}/v1`};
const [log, warn, error, debug] = ['log', 'warn', 'error', 'debug'].map(name => console[name]);
let told = 0; // of warnings and errors
const facts = ['Their boat is green', 'They never eat nuts', 'Their sister lives in Bergen'];
const whole = JSON.stringify({memory: facts.map((text, id) => ({id: `${id}`, text}))});
const add = async (content, finish_reason) => {
  Object.assign(choice, {finish_reason, message: {role: 'assistant', content}});
  const client = new MemoryVectorStore({embedQuery: async () => [1, 0], embedDocuments: async texts => texts.map(() => [1, 0])});
  const memory = new Memory({disableHistory: true, embedder: {provider: 'openai', config}, llm: {provider: 'openai', config},
    vectorStore: {provider: 'langchain', config: {collectionName: 'm', client}}});
  console.warn = console.error = console.debug = () => told++;
  told = 0;
  const {results} = await memory.add('My boat is green, I never eat nuts, and my sister lives in Bergen', {userId: 'ann'});
  const found = client.memoryVectors.map(v => v.content).filter(text => facts.includes(text)).length;
  Object.assign(console, {warn, error, debug});
  return [results.length, found, told];
};
const all = await add(whole, 'stop'), cut = await add(whole.slice(0, 70), 'length'), none = await add('{"memory":[]}', 'stop');
log('whole answer: ', all[0], 'results');
log('cut answer:   ', cut[0], 'results,', cut[2], 'warnings');
log('empty answer: ', none[0], 'results,', none[2], 'warnings');
process.exit(all[0] === 3 && `${cut}` === '0,0,0' && `${none}` === '0,0,0' ? 0 : 1);
JS
echo "mem0ai 3.3.1, Node $(node --version)"
MEM0_TELEMETRY=false node main.mjs
