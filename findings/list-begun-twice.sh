#!/usr/bin/env bash
# yjs 13.6.33, @automerge/automerge 3.5.0, loro-crdt 1.17.1: two who begin the same list apart lose the list of one of them.
#
# Guess:    documents that merge without conflicts keep what each has added: a list "tasks" with one's entry and the other's two.
# Behaviour: who finds no list makes one, and it is another list of that name. After the merge both see one of the two, and what
#           the other got is gone, without a word, in all three libraries. In a list that one has made before they parted, or
#           one at the top of a document of Yjs or Loro, all three entries stay.
# Remedy:   make lists and maps in one place before documents part (Yjs: doc.getArray at the top; Loro: doc.getList), or a key of
#           its own for each entry.
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund yjs@13.6.33 @automerge/automerge@3.5.0 loro-crdt@1.17.1
cat >main.mjs <<'JS'
import * as Automerge from '@automerge/automerge';
import {LoroDoc, LoroList} from 'loro-crdt';
import * as Y from 'yjs';
const yjs = (add, list) => {
  const one = new Y.Doc(), two = new Y.Doc();
  add(one, 'paint'), add(two, 'nails'), add(two, 'wood');
  Y.applyUpdate(one, Y.encodeStateAsUpdate(two));
  Y.applyUpdate(two, Y.encodeStateAsUpdate(one));
  return [one, two].map(list);
};
const loro = (add, list) => {
  const one = new LoroDoc(), two = new LoroDoc();
  add(one, 'paint'), add(two, 'nails'), add(two, 'wood');
  one.import(two.export({mode: 'update'}));
  two.import(one.export({mode: 'update'}));
  return [one, two].map(list);
};
const automerge = (one, two) => {
  const add = (doc, task) => Automerge.change(doc, d => { d.tasks ??= []; d.tasks.push(task); });
  one = add(one, 'paint');
  two = add(add(two, 'nails'), 'wood');
  const merged = Automerge.merge(one, two);
  return [merged, Automerge.merge(two, merged)].map(d => d.tasks);
};
const before = Automerge.from({tasks: []});
const seen = {
  'yjs, in a map': yjs((doc, task) => {
    const map = doc.getMap('plan');
    if (!map.has('tasks')) map.set('tasks', new Y.Array());
    map.get('tasks').push([task]);
  }, doc => doc.getMap('plan').get('tasks').toArray()),
  'yjs, at the top': yjs((doc, task) => doc.getArray('tasks').push([task]), doc => doc.getArray('tasks').toArray()),
  'loro, in a map': loro((doc, task) => {
    doc.getMap('plan').getOrCreateContainer('tasks', new LoroList()).push(task);
    doc.commit();
  }, doc => doc.toJSON().plan.tasks),
  'loro, at the top': loro((doc, task) => { doc.getList('tasks').push(task); doc.commit(); }, doc => doc.toJSON().tasks),
  'automerge, begun apart': automerge(Automerge.init(), Automerge.init()),
  'automerge, begun before': automerge(Automerge.clone(before), Automerge.clone(before)),
};
let right = true;
for (const [how, [one, two]] of Object.entries(seen)) {
  const agree = JSON.stringify(one) === JSON.stringify(two), apart = /map|apart/.test(how);
  const count = one.length; // whose list stays goes by the ids of the two, which are drawn by lot
  console.log(`${how}: ${count < 3 ? 'one list of the two' : 'all three entries'}, both the same: ${agree}`);
  right &&= agree && (apart ? count < 3 : count === 3);
}
process.exit(right ? 0 : 1);
JS
echo "yjs 13.6.33, automerge 3.5.0, loro-crdt 1.17.1, Node $(node --version)"
node main.mjs
