#!/usr/bin/env bash
# ai 7.0.173: an answer that does not fit its JSON schema is an object like others, and a tool runs with it.
#
# Guess:    a schema that is given as JSON is checked as one of zod is: what does not fit is an error, or goes back to the model.
# Behaviour: jsonSchema() tells the model of the schema, and checks nothing. Of {amount: 'a lot'}, where an integer and a name are
#           required, zod makes an error; jsonSchema hands it on as the output, and calls the tool with it. The types of
#           TypeScript say that both are there.
# Remedy:   jsonSchema(schema, {validate}) with a validator of your own, such as ajv.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ai@7.0.173 zod@4.6.7
cat >main.mjs <<'JS'
import {generateText, jsonSchema, Output, tool} from 'ai';
import {MockLanguageModelV4} from 'ai/test';
import {z} from 'zod';
const given = '{"amount":"a lot"}', usage = {inputTokens: {total: 1}, outputTokens: {total: 1}};
const model = (content, unified) => new MockLanguageModelV4({
  doGenerate: async () => ({content: [content], finishReason: {unified, raw: unified}, usage, warnings: []})});
const schemas = {
  zod: z.object({amount: z.number().int(), to: z.string()}),
  json: jsonSchema({type: 'object', properties: {amount: {type: 'integer'}, to: {type: 'string'}},
    required: ['amount', 'to'], additionalProperties: false}),
};
const seen = {};
for (const [name, schema] of Object.entries(schemas)) {
  const output = await generateText({model: model({type: 'text', text: given}, 'stop'), prompt: 'x', output: Output.object({schema})})
    .then(result => JSON.stringify(result.output), () => 'refused');
  let ran = 'refused';
  const pay = tool({inputSchema: schema, execute: async args => { ran = JSON.stringify(args); return 'paid'; }});
  const call = {type: 'tool-call', toolCallId: '1', toolName: 'pay', input: given};
  await generateText({model: model(call, 'tool-calls'), prompt: 'x', tools: {pay}});
  seen[name] = {output, ran};
  console.log(name, seen[name]);
}
const {zod, json} = seen;
process.exit(zod.output === 'refused' && zod.ran === 'refused' && json.output === given && json.ran === given ? 0 : 1);
JS
echo "ai 7.0.173, zod 4.6.7, Node $(node --version)"
AI_SDK_LOG_WARNINGS=false node main.mjs
