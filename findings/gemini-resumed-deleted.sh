#!/usr/bin/env bash
# gemini-cli 0.61.0: a talk that was resumed is deleted, files and all, when the next new talk begins.
#
# Guess:    sessions stay for the time of general.sessionRetention, 30 days unless it says otherwise.
# Behaviour: a resume in a later minute than the first start makes a second file for the session, with that minute in its name
#           and with nothing that was said. The next start without --resume takes that file for a broken one, and removes all
#           files with the session's digits in their names: the talk too, minutes after it was led.
# Remedy:   copy tmp/*/chats before each start; or begin no new talk in a project whose talks are to stay.
#
# Needs Node 20 or newer, and up to two minutes. Exits with 1 if the program behaves otherwise.
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
gemini() { "$dir/node_modules/.bin/gemini" -m gemini-2.5-flash "$@" </dev/null >/dev/null 2>&1; }
stored() { grep -rlF "$1" "$HOME/.gemini" | wc -l; }
gemini -p "the first word"
minute=$(date +%M)
while [ "$(date +%M)" = "$minute" ]; do sleep 1; done
gemini --resume latest -p "the second word"
ls "$HOME"/.gemini/tmp/*/chats
before=$(stored "the first word")
gemini -p "another talk"
ls "$HOME"/.gemini/tmp/*/chats
echo "gemini-cli $("$dir/node_modules/.bin/gemini" --version 2>/dev/null), node $(node --version)"
echo "files with the first talk: $before, and after another one began: $(stored "the first word")"
[ "$before" -gt 0 ] && [ "$(stored "the first word")" -eq 0 ]
