#!/usr/bin/env bash
# opencode 1.18.33: a fork is a copy that nothing links to its origin, and "run" puts quotation marks around the prompt.
#
# Guess:    a session made by --fork names the session or the message that it comes from, and its copied messages keep their ids.
# Behaviour: the export of a fork has no parent, new ids for all that was copied, and the times of the originals. So who counts
#           or searches sessions has each message as often as it was forked. And the text of a prompt of several words, given as
#           one argument, stands in the store, and before the model, with quotation marks that nobody typed.
# Remedy:   a message is a copy where time and text are those of another session; take the marks off where both ends have one.
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
  request.resume().on('end', () => {
    const piece = (delta, finish_reason) => `data: ${JSON.stringify({
      id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{index: 0, delta, finish_reason}]})}\n\n`;
    response.setHeader('content-type', 'text/event-stream');
    response.end(piece({role: 'assistant', content: 'Good morning'}, null) + piece({}, 'stop') + 'data: [DONE]\n\n');
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
{"autoupdate": false, "share": "disabled", "model": "fake/m", "small_model": "fake/m", "provider": {"fake": {
  "npm": "@ai-sdk/openai-compatible", "models": {"m": {"name": "m"}},
  "options": {"baseURL": "http://127.0.0.1:$(cat port)/v1", "apiKey": "none"}}}}
JSON
cd work
opencode() { "$dir/node_modules/opencode-linux-x64/bin/opencode" "$@" </dev/null 2>/dev/null; }
opencode run "the first word" >/dev/null
opencode run --continue --fork "a side path" >/dev/null
echo "opencode $(opencode --version)"
for id in $(opencode session list --format json | grep -o 'ses_[A-Za-z0-9]*'); do
	opencode export "$id" >"$dir/$id.json"
done
cat >"$dir/read.mjs" <<'JS'
import {readFileSync} from 'node:fs';
const [fork, origin] = process.argv.slice(2).map(file => JSON.parse(readFileSync(file, 'utf8')))
  .sort((a, b) => b.messages.length - a.messages.length);
const seen = s => s.messages.slice(0, 2).map(m => ({
  id: m.info.id, at: m.info.time.created, text: m.parts.filter(p => p.type === 'text').map(p => p.text).join('')}));
const [copied, said] = [seen(fork), seen(origin)];
const linked = JSON.stringify(fork.info).includes(origin.info.id) || 'parentID' in fork.info;
console.log('origin', said, '\nfork  ', copied, '\nthe fork names its origin:', linked);
const copies = said.every((m, i) => m.id !== copied[i].id && m.at === copied[i].at && m.text === copied[i].text);
process.exit(!linked && copies && said[0].text === '"the first word"' ? 0 : 1);
JS
node "$dir/read.mjs" "$dir"/ses_*.json
