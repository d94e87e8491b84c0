#!/usr/bin/env bash
# ACP's SDK for TypeScript 2.4.0: a client's turn ends before its updates were handled, and updates overtake each other.
#
# Guess:    a handler of session/update that awaits something is awaited: the updates of an answer are handled one after the other,
#           and all before the response of session/prompt, which the agent sent last.
# Behaviour: each handler is started when its message arrives, and nothing waits for it. With a first update that takes longer,
#           as a file or a redraw does, "12345" becomes "23451"; at the end of the turn none of it was there yet.
# Remedy:   let the handler only append to a queue, without await, and work through the queue elsewhere.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @agentclientprotocol/sdk@2.4.0
cat >main.mjs <<'JS'
import {agent, client, methods, ndJsonStream} from '@agentclientprotocol/sdk';
const toClient = new TransformStream(), toAgent = new TransformStream();
const pause = time => new Promise(over => setTimeout(over, time));
const {initialize, session} = methods.agent, {update} = methods.client.session;
const far = agent({name: 'speaker'});
far.onRequest(initialize, () => ({protocolVersion: 1, agentCapabilities: {}}));
far.onRequest(session.new, () => ({sessionId: 's'}));
far.onRequest(session.prompt, async context => {
  for (const text of '12345') {
    const content = {type: 'text', text};
    await context.client.notify(update, {sessionId: 's', update: {sessionUpdate: 'agent_message_chunk', content}});
  }
  return {stopReason: 'end_turn'};
});
far.connect(ndJsonStream(toClient.writable, toAgent.readable));
const near = client({name: 'listener'});
let heard = '', atEnd, later;
near.onNotification(update, async context => {
  const {text} = context.params.update.content;
  await pause(text === '1' ? 500 : 200);
  heard += text;
});
await near.connectWith(ndJsonStream(toAgent.writable, toClient.readable), async context => {
  await context.request(initialize, {protocolVersion: 1, clientCapabilities: {}});
  const {sessionId} = await context.request(session.new, {cwd: '/', mcpServers: []});
  await context.request(session.prompt, {sessionId, prompt: [{type: 'text', text: 'count'}]});
  atEnd = heard;
  await pause(1500);
  later = heard;
});
console.log(`heard at the end of the turn: "${atEnd}", later: "${later}"`);
process.exit(atEnd === '' && later === '23451' ? 0 : 1);
JS
echo "@agentclientprotocol/sdk 2.4.0, Node $(node --version)"
node main.mjs
