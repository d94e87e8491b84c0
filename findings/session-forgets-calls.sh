#!/usr/bin/env bash
# @openai/agents 0.20.0: of a run that fails after its tools ran, the session knows nothing; when it is tried again, they run again.
#
# Guess:    a session gets each call and its result before the model is asked with them, or when the run ends with an error at the
#           latest: the next run sees that the bill was paid.
# Behaviour: all is written behind the last answer. After a 503 of the model or maxTurns the session has none of the calls (with
#           stream: true the user's text alone, which stands there twice in the end). So the caller's second try pays a second
#           time, and no item of the session shows the first.
# Remedy:   let tools that act keep what they did, under a key of the task, and look there first.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @openai/agents@0.20.0 openai@7.59.0 zod@4.6.7
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import OpenAI from 'openai';
import {z} from 'zod';
import {Agent, MemorySession, OpenAIChatCompletionsModel, run, setTracingDisabled, tool} from '@openai/agents';
setTracingDisabled(true);
let down = false;
const call = {index: 0, id: 'c1', type: 'function', function: {name: 'pay', arguments: '{"bill": 7}'}};
// A model that calls the tool for the user's text, and says "done" behind its result.
const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const {messages, stream} = JSON.parse(body);
  const first = messages.at(-1).role === 'user';
  if (down && !first) return response.writeHead(503).end();
  const said = first ? {role: 'assistant', content: null, tool_calls: [call]} : {role: 'assistant', content: 'done'};
  const answer = {id: '1', created: 1, model: 'm', usage: {prompt_tokens: 1, completion_tokens: 1, total_tokens: 2}};
  const finish_reason = first ? 'tool_calls' : 'stop';
  response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
  const chunk = {...answer, object: 'chat.completion.chunk', choices: [{index: 0, delta: said, finish_reason}]};
  if (stream) return response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  response.end(JSON.stringify({...answer, object: 'chat.completion', choices: [{index: 0, message: said, finish_reason}]}));
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const client = new OpenAI({apiKey: 'none', baseURL: `http://127.0.0.1:${server.address().port}/v1`, maxRetries: 0});
let paid = 0;
const pay = tool({name: 'pay', description: 'pays a bill', parameters: z.object({bill: z.number()}), execute: () => `paid ${++paid}`});
const agent = new Agent({name: 'a', tools: [pay], model: new OpenAIChatCompletionsModel(client, 'm')});
const kinds = async session => (await session.getItems()).map(item => item.role ?? item.type).join(' ');
const seen = [];
for (const [how, stream, maxTurns] of [['503', false, 10], ['503', true, 10], ['maxTurns', false, 1]]) {
  const session = new MemorySession();
  const once = async options => {
    const ran = await run(agent, 'Pay bill 7.', {session, stream, ...options});
    if (stream) for await (const _ of ran);
    if (stream) await ran.completed;
  };
  [down, paid] = [how === '503', 0];
  const failed = await once({maxTurns}).then(() => 'none', error => error.message);
  const held = await kinds(session);
  down = false;
  await once({});
  console.log({how, stream, failed, held, paid, 'held in the end': await kinds(session)});
  seen.push(`${failed !== 'none'} ${held} ${paid}`);
}
process.exit(seen.join() === 'true  2,true user 2,true  2' ? 0 : 1);
JS
echo "@openai/agents 0.20.0, Node $(node --version)"
node main.mjs
