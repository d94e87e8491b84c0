#!/usr/bin/env bash
# @orama/orama 3.1.18: a search in the room "kitchen garden" finds what was said in "kitchen", and the other way.
#
# Guess:    where: {room: 'kitchen'} limits a search to documents whose room is that text.
# Behaviour: a filter of a string is a list of words, and one of them is enough. Rooms, authors and titles that share a word are
#           taken for each other. A test with names of one word each does not see it.
# Remedy:   give such a field the type "enum", and filter by {eq: 'kitchen'}.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @orama/orama@3.1.18
cat >main.mjs <<'JS'
import {create, insert, search} from '@orama/orama';
const rooms = ['kitchen', 'kitchen garden', 'garden', 'mill'];
const find = async (type, filter) => {
  const db = create({schema: {room: type, text: 'string'}});
  for (const room of rooms) await insert(db, {room, text: 'paint'});
  return (await search(db, {term: 'paint', where: {room: filter}})).hits.map(hit => hit.document.room).sort().join(', ');
};
const seen = [];
for (const room of rooms) {
  seen.push(`${room}: ${await find('string', room)}; as enum: ${await find('enum', {eq: room})}`);
  console.log(seen.at(-1));
}
const known = ['kitchen: kitchen, kitchen garden; as enum: kitchen',
  'kitchen garden: garden, kitchen, kitchen garden; as enum: kitchen garden',
  'garden: garden, kitchen garden; as enum: garden', 'mill: mill; as enum: mill'];
process.exit(JSON.stringify(seen) === JSON.stringify(known) ? 0 : 1);
JS
echo "@orama/orama 3.1.18, Node $(node --version); rooms that a filter by a room lets pass"
node main.mjs
