#!/usr/bin/env bash
# gemini-cli 0.61.0: a session's .jsonl is no log. Each resume empties it by a line, and writes all of the talk again.
#
# Guess:    a file of JSON lines that grows at its end holds each message once, so a reader may go on at its last offset.
# Behaviour: --resume appends a second header, a line {"$set": {"messages": [the context alone]}}, and a line with all messages so
#           far. Whoever reads on by offset takes each message again at each resume, and a talk of a hundred resumes weighs
#           fifty times what was said. Between the two lines, for as long as the start takes, the talk is empty.
# Remedy:   fold the whole file by message id, and let no {"$set": {"messages": …}} take away what stood there.
#
# Needs Node 20 or newer. Exits with 1 if the program behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
model=
trap '[ -z "$model" ] || kill "$model"; rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @google/gemini-cli@0.61.0
cat >model.mjs <<'JS'
import {createServer} from 'node:http';
createServer((request, response) => {
  request.resume().on('end', () => {
    const answer = JSON.stringify({
      candidates: [{content: {role: 'model', parts: [{text: 'Good morning'}]}, finishReason: 'STOP', index: 0}],
      usageMetadata: {promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12},
    });
    response.end(request.url.includes('stream') ? `data: ${answer}\r\n\r\n` : answer);
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
JS
node model.mjs >port &
model=$!
until [ -s port ]; do sleep 0.1; done
export HOME=$dir/home GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:$(cat port) GEMINI_CLI_TRUST_WORKSPACE=true
mkdir -p home/.gemini work
echo '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}' >home/.gemini/settings.json
cd work
gemini=$dir/node_modules/.bin/gemini
"$gemini" -m gemini-2.5-flash -p "the first word" </dev/null >/dev/null 2>&1
for text in second third; do
	"$gemini" -m gemini-2.5-flash --resume latest -p "the $text word" </dev/null >/dev/null 2>&1
done
echo "gemini-cli $("$gemini" --version 2>/dev/null), node $(node --version)"
cat >"$dir/read.mjs" <<'JS'
import {readFileSync} from 'node:fs';
let first = 0, emptied = 0, said = false;
for (const file of process.argv.slice(2)) {
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const record = JSON.parse(line), all = record.$set?.messages;
    const messages = all ?? [record];
    const holds = messages.some(m => JSON.stringify(m.content ?? '').includes('the first word'));
    if (holds) first++;
    if (said && all && !holds) emptied++;
    said ||= holds;
  }
}
console.log(`the first message stands in ${first} lines; ${emptied} lines take it away`);
process.exit(first === 3 && emptied === 2 ? 0 : 1);
JS
find "$HOME/.gemini/tmp" -name '*.jsonl' -print0 | sort -z | xargs -0 node "$dir/read.mjs"
