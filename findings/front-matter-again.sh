#!/usr/bin/env bash
# gray-matter 4.0.3: a file whose front matter is broken is refused once; from then on it is read as a file without any.
#
# Guess:    matter(text) is a function of its text: the same text is the same data, or the same error, each time.
# Behaviour: without options it keeps what it read under the text, from before it parses. A text that threw is found there the next
#           time, with data {} and all of it as content; a skill or a page with a typing error loses its name, its rights
#           and "draft: true" at the second look. And whoever changes the data changes it for all who read the same text later.
# Remedy:   matter(text, {}): any options turn the cache off.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund gray-matter@4.0.3
cat >main.mjs <<'JS'
import matter from 'gray-matter';
const broken = '---\ndraft: true\ntags: [a\n---\nText.\n', good = '---\nrole: reader\n---\nText.\n';
const read = (text, ...options) => {
  try {
    return JSON.stringify(matter(text, ...options).data);
  } catch (error) {
    return error.name;
  }
};
const seen = [read(broken), read(broken), read(broken, {}), read(broken, {})];
console.log('broken:', ...seen);
matter(good).data.role = 'owner';
const changed = [read(good), read(good, {})];
console.log('changed by another reader:', ...changed);
const wanted = ['YAMLException', '{}', 'YAMLException', 'YAMLException', '{"role":"owner"}', '{"role":"reader"}'];
process.exit(JSON.stringify([...seen, ...changed]) === JSON.stringify(wanted) ? 0 : 1);
JS
echo "gray-matter 4.0.3, Node $(node --version)"
node main.mjs
