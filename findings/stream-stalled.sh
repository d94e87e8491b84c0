#!/usr/bin/env bash
# openai 6.49.0 (npm): timeout ends a request without an answer, but not a stream that falls silent, nor the wait of Retry-After.
#
# Guess:    timeout: 1000 bounds each wait for the server, between two pieces of a stream and before a retry, too.
# Behaviour: the clock stops when the headers are there. A stream that says nothing after its first piece keeps its caller waiting
#           (seen: five times the timeout). And a 429 with "Retry-After: 3600" is obeyed inside of create(), without a word: a chat
#           looks hung.
# Remedy:   an AbortSignal that a timer of one's own sets off, moved on by each chunk; maxRetries: 0 where one waits oneself.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund openai@6.49.0
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import OpenAI from 'openai';
const server = createServer((request, response) => {
  if (request.url.startsWith('/silent/')) return;
  if (request.url.startsWith('/busy/')) {
    response.writeHead(429, {'retry-after': '3600', 'content-type': 'application/json'});
    return response.end('{"error": {"message": "busy"}}');
  }
  response.setHeader('content-type', 'text/event-stream');
  const choices = [{index: 0, delta: {role: 'assistant', content: 'Good'}, finish_reason: null}];
  response.write(`data: ${JSON.stringify({id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices})}\n\n`);
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
const outcome = async (path, options) => {
  const baseURL = `http://127.0.0.1:${server.address().port}/${path}`;
  const ask = async () => {
    const client = new OpenAI({baseURL, apiKey: 'none', timeout: 1000, ...options});
    const messages = [{role: 'user', content: 'Hello'}];
    for await (const chunk of await client.chat.completions.create({model: 'm', messages, stream: true})) void chunk;
    return 'ended';
  };
  const late = new Promise(over => setTimeout(over, 5000, 'waits'));
  const seen = await Promise.race([ask().catch(error => error.constructor.name), late]);
  console.log(`${path}: ${seen}`);
  return seen;
};
const [silent, stalled, busy] = await Promise.all([
  outcome('silent', {maxRetries: 0}), outcome('stalled', {maxRetries: 0}), outcome('busy', {})]);
process.exit(silent === 'APIConnectionTimeoutError' && stalled === 'waits' && busy === 'waits' ? 0 : 1);
JS
echo "openai 6.49.0, Node $(node --version), a timeout of 1 s, looked at for 5 s"
node main.mjs
