#!/usr/bin/env bash
# opencode 1.18.33: an exported session lacks what its tools returned.
#
# Guess:    "opencode export" brings all of a session, so what it printed can be read or imported elsewhere.
# Behaviour: of a command's 20,000 lines it holds a note and the last 1,999. The whole stands in a file of the data
#           directory, tool-output/tool_…, of which the export has the path on this machine.
# Remedy:   copy tool-output beside the export, and put each file's text where a part has state.metadata.outputPath.
#
# Needs Node, on Linux with an amd64 processor. Exits with 1 if the program behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
model=
trap '[ -z "$model" ] || kill "$model"; rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund opencode-linux-x64@1.18.33
cat >model.mjs <<'JS'
import {createServer} from 'node:http';
createServer((request, response) => {
  let body = '';
  request.on('data', text => body += text).on('end', () => {
    const {messages = [], tools} = JSON.parse(body || '{}');
    const piece = (delta, finish_reason) => `data: ${JSON.stringify({
      id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{index: 0, delta, finish_reason}]})}\n\n`;
    const call = {index: 0, id: 'call_1', type: 'function', function: {
      name: 'bash', arguments: JSON.stringify({command: 'seq 1 20000', description: 'counts'})}};
    const calls = tools && messages.at(-1).role === 'user';
    response.setHeader('content-type', 'text/event-stream');
    response.end((calls ? piece({role: 'assistant', tool_calls: [call]}, null) + piece({}, 'tool_calls')
      : piece({role: 'assistant', content: 'Counted.'}, null) + piece({}, 'stop')) + 'data: [DONE]\n\n');
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
JS
node model.mjs >port &
model=$!
until [ -s port ]; do sleep 0.1; done
unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME
export HOME=$dir/home
mkdir -p home work
cat >work/opencode.json <<JSON
{"autoupdate": false, "share": "disabled", "model": "fake/m", "small_model": "fake/m", "permission": "allow", "provider": {"fake": {
  "npm": "@ai-sdk/openai-compatible", "models": {"m": {"name": "m"}},
  "options": {"baseURL": "http://127.0.0.1:$(cat port)/v1", "apiKey": "none"}}}}
JSON
cd work
opencode() { "$dir/node_modules/opencode-linux-x64/bin/opencode" "$@" </dev/null 2>/dev/null; }
opencode run "count" >/dev/null
echo "opencode $(opencode --version)"
id=$(opencode session list --format json | grep -o 'ses_[A-Za-z0-9]*' | head -1)
opencode export "$id" >"$dir/session.json"
cat >"$dir/read.mjs" <<'JS'
import {readFileSync} from 'node:fs';
const [file, home] = process.argv.slice(2);
const state = JSON.parse(readFileSync(file, 'utf8')).messages.flatMap(m => m.parts).find(p => p.type === 'tool').state;
const lines = text => text.split('\n').filter(line => /^\d+$/.test(line)).length;
const path = state.metadata.outputPath;
console.log(`lines in the export: ${lines(state.output)}, in ${path.replace(home, '~')}: ${lines(readFileSync(path, 'utf8'))}`);
process.exit(lines(state.output) < 20000 && lines(readFileSync(path, 'utf8')) === 20000 ? 0 : 1);
JS
node "$dir/read.mjs" "$dir/session.json" "$HOME"
