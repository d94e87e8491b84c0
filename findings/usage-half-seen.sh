#!/usr/bin/env bash
# @langchain/anthropic 1.5.11: the tokens of a streamed answer that searched the web are those of its first request alone.
#
# Guess:    usage_metadata of a stream is that of the same answer without a stream; what message_delta tells is cumulative, by
#           Anthropic's documentation, and takes the place of what message_start told.
# Behaviour: the input and the cached tokens of message_delta are dropped, so that results of a search, which the model reads in
#           the same answer, cost nothing; and both counts of output tokens are added. A budget or a bill by it is short by
#           two thirds here.
# Remedy:   take the tokens from the events of @anthropic-ai/sdk, or do not stream where the provider's own tools are on.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @langchain/anthropic@1.5.11 @langchain/core@1.4.0 @anthropic-ai/sdk@1.14.0
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import {ChatAnthropic} from '@langchain/anthropic';
import Anthropic from '@anthropic-ai/sdk';
const first = {input_tokens: 2700, cache_creation_input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 3};
const whole = {input_tokens: 10700, cache_creation_input_tokens: 0, cache_read_input_tokens: 1500, output_tokens: 510,
  server_tool_use: {web_search_requests: 1}};
const message = {id: 'm1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null};
const end = {stop_reason: 'end_turn', stop_sequence: null};
const events = [
  {type: 'message_start', message: {...message, usage: first}},
  {type: 'content_block_start', index: 0, content_block: {type: 'text', text: ''}},
  {type: 'content_block_delta', index: 0, delta: {type: 'text_delta', text: 'Sunny.'}},
  {type: 'content_block_stop', index: 0},
  {type: 'message_delta', delta: end, usage: whole},
  {type: 'message_stop'},
];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  if (!JSON.parse(body).stream) {
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({...message, ...end, content: [{type: 'text', text: 'Sunny.'}], usage: whole}));
  }
  response.setHeader('content-type', 'text/event-stream');
  response.end(events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${server.address().port}`;
const model = new ChatAnthropic({model: 'm', apiKey: 'none', anthropicApiUrl: url});
const counts = m => [m.usage_metadata.input_tokens, m.usage_metadata.input_token_details.cache_read, m.usage_metadata.output_tokens];
let joined;
for await (const chunk of await model.stream('weather?')) joined = joined ? joined.concat(chunk) : chunk;
const stream = counts(joined), invoked = counts(await model.invoke('weather?'));
const sdk = new Anthropic({apiKey: 'none', baseURL: url});
const asked = {model: 'm', max_tokens: 1000, messages: [{role: 'user', content: 'weather?'}]};
const {usage} = await sdk.messages.stream(asked).finalMessage();
const total = [usage.input_tokens + usage.cache_read_input_tokens, usage.cache_read_input_tokens, usage.output_tokens];
console.log('input with cached, cached, output:');
console.log('  stream', ...stream, '\n  without a stream', ...invoked, '\n  @anthropic-ai/sdk', ...total);
const wanted = [[3700, 1000, 513], [12200, 1500, 510], [12200, 1500, 510]];
const same = JSON.stringify([stream, invoked, total]) === JSON.stringify(wanted);
process.exit(same ? 0 : 1);
JS
echo "@langchain/anthropic 1.5.11, @anthropic-ai/sdk 1.14.0, Node $(node --version)"
node main.mjs
