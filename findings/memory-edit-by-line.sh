#!/usr/bin/env bash
# @anthropic-ai/sdk 1.14.0: its memory tool finds no text of two lines, and takes two places on one line for one.
#
# Guess:    str_replace replaces a text that stands exactly once in a file of /memories, and is refused where it stands twice.
# Behaviour: it looks for the text in each line alone. A text of two lines, copied from what `view` showed, "did not appear verbatim",
#           so a model rewrites the file or gives up; a text that stands twice on one line counts as unique, and the first is
#           replaced without a word.
# Remedy:   a handler of your own behind the tool's commands, that counts in the whole file.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @anthropic-ai/sdk@1.14.0
cat >main.mjs <<'JS'
import {mkdtempSync, readFileSync} from 'node:fs';
import {BetaLocalFilesystemMemoryTool} from '@anthropic-ai/sdk/tools/memory/node';
const base = mkdtempSync(`${process.cwd()}/m-`);
const memory = await BetaLocalFilesystemMemoryTool.init(base);
const path = '/memories/boat.md', text = 'hull: green\ndeck: white\nspare: oil 2, oil 2\n';
await memory.create({command: 'create', path, file_text: text});
const replace = async (old_str, new_str) => {
  try {
    await memory.str_replace({command: 'str_replace', path, old_str, new_str});
    return 'replaced';
  } catch (error) {
    return error.message.split(',')[0];
  }
};
const lines = await replace('hull: green\ndeck: white', 'hull: green\ndeck: blue');
const twice = await replace('oil 2', 'oil 3');
const now = readFileSync(`${base}/memories/boat.md`, 'utf8').split('\n')[2];
console.log('two lines that stand in the file:', lines);
console.log('a text that stands twice on a line:', twice, '->', now);
process.exit(lines === 'No replacement was performed' && twice === 'replaced' && now === 'spare: oil 3, oil 2' ? 0 : 1);
JS
echo "@anthropic-ai/sdk 1.14.0, Node $(node --version)"
node main.mjs
