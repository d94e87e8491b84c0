#!/usr/bin/env bash
# fflate 0.8.3: of a gzip file to which a second part was appended, gunzipSync and gunzip return the first part, as if it were all.
#
# Guess:    a gzip file is all of its members, as gzip -d, Node's zlib and pako read it; `cat a.gz b.gz` is the text of both.
# Behaviour: reading ends behind the first member, and the bytes after it are no error. Logs, exports and archives that are written
#           in parts (opened again to append, rotated and joined, a member each flush) are shorter than they are. The class
#           Gunzip of the same library reads all.
# Remedy:   push the bytes through new Gunzip, or DecompressionStream.
#
# Needs Node and gzip. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund fflate@0.8.3 pako@3.0.3
echo monday | gzip >log.gz
echo tuesday | gzip >>log.gz
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import * as zlib from 'node:zlib';
import * as fflate from 'fflate';
import * as pako from 'pako';
const file = readFileSync('log.gz');
const text = bytes => Buffer.from(bytes).toString();
let streamed = '';
new fflate.Gunzip(part => { streamed += text(part); }).push(file, true);
const later = await new Promise((got, failed) => fflate.gunzip(file, (error, out) => error ? failed(error) : got(text(out))));
const seen = {
  'zlib': text(zlib.gunzipSync(file)), 'pako': text(pako.ungzip(file)), 'fflate Gunzip': streamed,
  'fflate gunzipSync': text(fflate.gunzipSync(file)), 'fflate gunzip': later,
};
console.log(seen);
process.exit(Object.values(seen).join() === `${'monday\ntuesday\n,'.repeat(3)}monday\n,monday\n` ? 0 : 1);
JS
echo "fflate 0.8.3, pako 3.0.3, Node $(node --version)"
gzip -dc log.gz
node main.mjs
