#!/usr/bin/env bash
# yjs 13.6.33: undo takes away what others wrote, if their changes came in by applyUpdate(doc, update).
#
# Guess:    an undo manager takes back the changes that were made here; what came as an update from elsewhere is not in its stack.
# Behaviour: it goes by the origin of a change, and tracks those with none. applyUpdate(doc, update), as the README has it, is one of
#           these: what others wrote within half a second goes with the same undo, and what came later is undone by the next.
#           The removal is then sent to all as a change. Providers give an origin, so that a test with one does not see it;
#           a bridge or a store of one's own does.
# Remedy:   applyUpdate(doc, update, 'remote'), with any origin that is not null.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund yjs@13.6.33
cat >main.mjs <<'JS'
import * as Y from 'yjs';
// undone is what both have after one wrote "mine", the other's "theirs" came in, and the one undid: once, or twice.
const undone = (times, ...origin) => {
  const one = new Y.Doc(), other = new Y.Doc();
  const manager = new Y.UndoManager(one.getText('notes'), {captureTimeout: 0}); // each change is a step of its own
  one.getText('notes').insert(0, 'mine');
  other.getText('notes').insert(0, 'theirs');
  Y.applyUpdate(one, Y.encodeStateAsUpdate(other), ...origin);
  for (let n = 0; n < times; n++) manager.undo();
  Y.applyUpdate(other, Y.encodeStateAsUpdate(one));
  const texts = [one, other].map(doc => doc.getText('notes').toString());
  return texts[0] === texts[1] ? texts[0] : 'they differ';
};
const seen = {
  'no origin, undone once': undone(1), 'no origin, undone twice': undone(2),
  'an origin, undone once': undone(1, 'remote'), 'an origin, undone twice': undone(2, 'remote'),
};
console.log(seen);
process.exit(Object.values(seen).join() === 'mine,,theirs,theirs' ? 0 : 1);
JS
echo "yjs 13.6.33, Node $(node --version)"
node main.mjs
