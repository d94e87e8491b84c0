#!/usr/bin/env bash
# @langchain/openai 1.5.8: a tool call that the token limit cut off comes out of a stream as a whole one, with shorter arguments.
#
# Guess:    arguments that are no JSON stand in invalid_tool_calls, as they do where the same answer comes without a stream.
# Behaviour: the parts of a stream are joined by a reader that closes open strings and braces. {"path": "/srv/da becomes
#           {"path": "/srv/da"} in tool_calls, and invalid_tool_calls is empty: an agent calls the tool with a path, a text
#           or a command that the model had not ended. Only finish_reason, "length", tells it.
# Remedy:   call no tool where finish_reason is not "tool_calls" or "stop".
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @langchain/openai@1.5.8 @langchain/core@1.4.0
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import {ChatOpenAI} from '@langchain/openai';
const calls = [{index: 0, id: 'c1', type: 'function', function: {name: 'remove', arguments: '{"path": "/srv/da'}}];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const answer = {id: '1', object: 'chat.completion', created: 1, model: 'm'};
  if (!JSON.parse(body).stream) {
    response.setHeader('content-type', 'application/json');
    const message = {role: 'assistant', content: null, tool_calls: calls};
    return response.end(JSON.stringify({...answer, choices: [{index: 0, message, finish_reason: 'length'}]}));
  }
  response.setHeader('content-type', 'text/event-stream');
  for (const [delta, finish_reason] of [[{role: 'assistant', tool_calls: calls}, null], [{}, 'length']]) {
    const chunk = {...answer, object: 'chat.completion.chunk', choices: [{index: 0, delta, finish_reason}]};
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end('data: [DONE]\n\n');
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new ChatOpenAI({model: 'm', apiKey: 'none', configuration: {baseURL}});
const seen = m => ({calls: m.tool_calls.map(c => c.args), invalid: m.invalid_tool_calls.map(c => c.args),
  finish: m.response_metadata.finish_reason});
let joined;
for await (const chunk of await model.stream('go')) joined = joined ? joined.concat(chunk) : chunk;
const stream = seen(joined), whole = seen(await model.invoke('go'));
console.log('stream', stream, '\nwhole ', whole);
const told = whole.calls.length === 0 && whole.invalid.length === 1;
process.exit(told && stream.calls[0]?.path === '/srv/da' && stream.invalid.length === 0 && stream.finish === 'length' ? 0 : 1);
JS
echo "@langchain/openai 1.5.8, Node $(node --version)"
node main.mjs 2>/dev/null
