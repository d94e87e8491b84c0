#!/usr/bin/env bash
# Copilot CLI 1.0.102: what an agent is told by another one stands in a session as a user's message.
#
# Guess:    each user.message of a session's events.jsonl is what a person typed.
# Behaviour: the prompt that the model writes for a subagent is a user.message, too, in the same file. Only an agentId beside
#           its data, and a source of the form "agent-…" in it, tell it from a person's. So a list of a person's prompts, a
#           count of turns, or a memory of what they want has the model's own words in it.
# Remedy:   take a user.message for a person's only where the event has no agentId.
#
# Needs Node, on Linux with an amd64 processor. Exits with 1 if the program behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
model=
trap '[ -z "$model" ] || kill "$model"; rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @github/copilot@1.0.102 @github/copilot-linux-x64@1.0.102
cat >model.mjs <<'JS'
import {createServer} from 'node:http';
createServer((request, response) => {
  let body = '';
  request.on('data', text => body += text).on('end', () => {
    const {messages = []} = JSON.parse(body || '{}');
    const piece = (delta, finish_reason) => `data: ${JSON.stringify({
      id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{index: 0, delta, finish_reason}]})}\n\n`;
    const call = {index: 0, id: 'call_1', type: 'function', function: {name: 'task', arguments: JSON.stringify(
      {description: 'look', prompt: 'words of the model', agent_type: 'explore', name: 'looker'})}};
    const calls = JSON.stringify(messages.at(-1)?.content ?? '').includes('words of the person');
    response.setHeader('content-type', 'text/event-stream');
    response.end((calls ? piece({role: 'assistant', tool_calls: [call]}, null) + piece({}, 'tool_calls')
      : piece({role: 'assistant', content: 'Done.'}, null) + piece({}, 'stop')) + 'data: [DONE]\n\n');
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
JS
node model.mjs >port &
model=$!
until [ -s port ]; do sleep 0.1; done
export HOME=$dir/home COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:$(cat port)/v1 COPILOT_PROVIDER_TYPE=openai
export COPILOT_PROVIDER_API_KEY=none COPILOT_MODEL=m COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false
mkdir -p home work
cd work
copilot() { "$dir/node_modules/.bin/copilot" "$@" </dev/null; }
copilot --allow-all-tools --no-auto-update -p "words of the person" >/dev/null 2>&1
copilot --version | head -1
cat >"$dir/read.mjs" <<'JS'
import {readFileSync} from 'node:fs';
const said = readFileSync(process.argv[2], 'utf8').trim().split('\n').map(JSON.parse).filter(e => e.type === 'user.message');
for (const e of said) console.log(`${e.type}: ${e.data.content}; agentId ${e.agentId ? 'set' : 'none'}; source ${e.data.source}`);
const [person, own] = said;
process.exit(said.length === 2 && person.data.content === 'words of the person' && !person.agentId &&
  own.data.content === 'words of the model' && own.agentId ? 0 : 1);
JS
node "$dir/read.mjs" "$HOME"/.copilot/session-state/*/events.jsonl
