#!/usr/bin/env bash
# slackify-markdown 4.5.0, telegramify-markdown 1.3.3: in a list of tasks on its way to a chat, done and open look alike.
#
# Guess:    what Slack and Telegram have no mark for stays as it was written: "[x] paint" and "[ ] order" are the answer itself.
# Behaviour: both read boxes of tasks, and write a bullet without them. Four open tasks and four done ones are the same text, without
#           an error. A model that answers "what is left?" with such a list, as they like to do, tells nothing. Tables, which have
#           no mark either, stay as text in both.
# Remedy:   write the boxes as signs (U+2611, U+2610) before it is converted.
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund slackify-markdown@4.5.0 telegramify-markdown@1.3.3
cat >main.mjs <<'JS'
import slackify from 'slackify-markdown';
import telegramify from 'telegramify-markdown';
const text = ['- [x] paint', '- [ ] order tiles'], other = ['- [ ] paint', '- [x] order tiles'];
let right = true;
for (const [name, convert] of [['Slack', slackify], ['Telegram', markdown => telegramify(markdown, 'escape')]]) {
  const [one, two] = [text, other].map(lines => convert(lines.join('\n')).trim());
  console.log(`${name}: ${JSON.stringify(one)}, with the boxes the other way: ${one === two ? 'the same' : 'another text'}`);
  right &&= one === two && one.includes('paint') && !/[[\]x]/.test(one);
}
process.exit(right ? 0 : 1);
JS
echo "slackify-markdown 4.5.0, telegramify-markdown 1.3.3, Node $(node --version)"
node main.mjs
