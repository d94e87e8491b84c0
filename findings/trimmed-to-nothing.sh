#!/usr/bin/env bash
# @langchain/core 1.4.0: trimMessages takes away the question that is being answered, once its tools have said enough.
#
# Guess:    strategy "last" with startOn "human" drops old turns and keeps at least the newest one, or fails where that is too long.
# Behaviour: where the last user's message is outside of maxTokens, because the results behind it or it itself are long, the list
#           is empty: the model gets its instructions alone and answers something, in the middle of a task. With includeSystem
#           the list is [undefined], not the instructions.
# Remedy:   look that the list has the newest user's message; trim what stands before it, and shorten results.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @langchain/core@1.4.0 @langchain/openai@1.5.8
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import {AIMessage, HumanMessage, SystemMessage, ToolMessage, trimMessages} from '@langchain/core/messages';
import {ChatOpenAI} from '@langchain/openai';
let asked;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  asked = JSON.parse(body).messages.map(message => `${message.role}: ${message.content}`);
  const choices = [{index: 0, message: {role: 'assistant', content: 'How can I help?'}, finish_reason: 'stop'}];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({id: '1', object: 'chat.completion', created: 1, model: 'm', choices}));
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new ChatOpenAI({model: 'm', apiKey: 'none', configuration: {baseURL}});
const system = new SystemMessage('Be brief.'), question = new HumanMessage('Which of the logs has the error?');
const read = n => [new AIMessage({content: '', tool_calls: [{id: `c${n}`, name: 'read', args: {n}}]}),
  new ToolMessage({content: 'line '.repeat(100), tool_call_id: `c${n}`})];
const characters = messages => messages.reduce((sum, message) => sum + message.content.length, 0);
const options = {maxTokens: 1200, strategy: 'last', startOn: 'human', tokenCounter: characters};
const seen = [];
for (const results of [2, 3]) {
  const turn = [question, ...Array.from({length: results}, (_, n) => read(n)).flat()];
  const {content} = await model.invoke([system, ...await trimMessages(turn, options)]);
  const withSystem = await trimMessages([system, ...turn], {...options, includeSystem: true});
  console.log({results, asked: asked.map(text => text.slice(0, 40)), content, 'with includeSystem': withSystem.map(m => m?.type)});
  seen.push(asked.length, withSystem.length, typeof withSystem[0]);
}
process.exit(seen.join() === '6,6,object,1,1,undefined' ? 0 : 1);
JS
echo "@langchain/core 1.4.0, @langchain/openai 1.5.8, Node $(node --version)"
node main.mjs
