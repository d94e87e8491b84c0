#!/usr/bin/env bash
# zod-to-json-schema 3.25.2 with zod 4.6.7: a tool's schema is empty, so that the model is told of no argument.
#
# Guess:    two packages of which one names the other as its peer (zod ^3.25.28 || ^4) fit each other, or say that they do not.
# Behaviour: of an object of zod 4 comes {"$schema": …} and nothing else, without an error; with zod/v3 of the same package it is
#           whole. A framework that makes its tools by it offers tools without arguments: a model leaves them out, or
#           guesses their names.
# Remedy:   z.toJSONSchema of zod 4; a test that the schema of a tool has properties.
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund zod-to-json-schema@3.25.2 zod@4.6.7
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import {z} from 'zod';
import * as v3 from 'zod/v3';
import {zodToJsonSchema} from 'zod-to-json-schema';
const {peerDependencies} = JSON.parse(readFileSync('node_modules/zod-to-json-schema/package.json', 'utf8'));
const keys = schema => Object.keys(schema.properties ?? {}).join(' ') || 'none';
const fields = from => from.object({path: from.string(), dryRun: from.boolean()});
const seen = [keys(zodToJsonSchema(fields(z))), keys(zodToJsonSchema(fields(v3))), keys(z.toJSONSchema(fields(z)))];
console.log('its peer is zod', peerDependencies.zod);
console.log('properties: of zod 4:', seen[0], '; of zod/v3:', seen[1], '; of zod 4 by toJSONSchema:', seen[2]);
process.exit(/\^4/.test(peerDependencies.zod) && seen.join() === 'none,path dryRun,path dryRun' ? 0 : 1);
JS
echo "zod-to-json-schema 3.25.2, zod 4.6.7, Node $(node --version)"
node main.mjs
