#!/usr/bin/env bash
# flexsearch 0.8.212: a search for flat 11 finds flats 1 and 111, and one for order 21 finds order 2211.
#
# Guess:    an index without options finds documents that have the word, above all where it is a number; case and accents may differ.
# Behaviour: letters and digits that follow each other twice are taken as one: 11 is 1, 2211 is 21, Anne is Ane. A number above three
#           digits is cut in threes, so that 100 finds 1001, and 11 finds 2211. The right one stands
#           among them, unmarked. Numbers of rooms, orders and bills are what notes are searched for.
# Remedy:   new Index({encoder: new Encoder({dedupe: false, numeric: false})}); look into the text of what was found.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund flexsearch@0.8.212
cat >main.mjs <<'JS'
import FlexSearch from 'flexsearch';
const notes = ['flat 1', 'flat 11', 'flat 111', 'order 21', 'order 2211', 'room 1001', 'for Anne', 'for Ane'];
const words = ['11', '21', '100', 'Ane'];
const plain = {encoder: new FlexSearch.Encoder({dedupe: false, numeric: false})};
const found = options => {
  const index = new FlexSearch.Index(options);
  notes.forEach((note, id) => index.add(id, note));
  return words.map(word => `${word}: ${index.search(word).map(id => notes[id]).sort().join(', ')}`).join('; ');
};
const seen = [found(), found(plain)];
console.log(`without options: ${seen[0]}\nwith the remedy: ${seen[1]}`);
process.exit(seen[0] === '11: flat 1, flat 11, flat 111, order 2211, room 1001; '
  + '21: order 21, order 2211; 100: room 1001; Ane: for Ane, for Anne'
  && seen[1] === '11: flat 11; 21: order 21; 100: ; Ane: for Ane' ? 0 : 1);
JS
echo "flexsearch 0.8.212, Node $(node --version)"
node main.mjs
