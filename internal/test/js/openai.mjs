// Talks to lethe serve as programs in JavaScript do, with OpenAI's own client, and prints what it got.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.TOKEN, maxRetries: 0 });
const ask = (messages, more) => client.chat.completions.create({ model: "ada/js", messages, ...more });
const got = {};

got.models = (await client.models.list()).data.map((m) => m.id);
got.model = (await client.models.retrieve("ada")).id;

const question = { role: "user", content: "what is 12*7?" };
const first = await ask([question]);
got.answer = first.choices[0].message.content;
got.finish = first.choices[0].finish_reason;
got.tokens = first.usage.total_tokens > 0;

got.streamed = "";
got.chunks = 0;
const stream = await ask([question, first.choices[0].message, { role: "user", content: "count to 60" }], {
  stream: true,
  stream_options: { include_usage: true },
});
for await (const chunk of stream) {
  got.streamed += chunk.choices[0]?.delta.content ?? "";
  got.chunks += chunk.choices[0]?.delta.content ? 1 : 0;
  got.untold = got.untold !== false && (chunk.usage === null || chunk.choices.length === 0); // usage is null, until it comes
  got.usage = chunk.usage?.total_tokens > 0;
}

const respond = (input, more) => client.responses.create({ model: "ada/responses", input, ...more });
const response = await respond("what is 12*7?", { instructions: "Be brief.", tools: [{ type: "web_search" }] });
got.response = `${response.status} ${response.output_text}`;
got.responseTokens = response.usage.total_tokens > 0;
const input = [
  { role: "user", content: "what is 12*7?" },
  response.output[0],
  { type: "function_call_output", call_id: "c", output: "passed over" },
  { role: "user", content: [{ type: "input_text", text: "count to 60" }] },
];
got.events = [];
got.responseDeltas = "";
for await (const event of await respond(input, { instructions: "Be brief.", stream: true })) {
  if (got.events.at(-1) !== event.type) got.events.push(event.type);
  if (event.type === "response.output_text.delta") got.responseDeltas += event.delta;
  if (event.type === "response.completed") got.responseStreamed = event.response.output[0].content[0].text;
  got.ordered = got.ordered !== false && event.sequence_number === (got.last ?? -1) + 1;
  got.last = event.sequence_number;
}
got.responseRefused = await respond(" ").catch((e) => `${e.constructor.name} ${e.status}`);

const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
got.refused = await ask([question], { tools, tool_choice: "required" }).catch((e) => `${e.constructor.name} ${e.status} ${e.type}`);
got.unknown = await client.models.retrieve("bob").catch((e) => `${e.constructor.name} ${e.status} ${e.code}`);
const stranger = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "wrong", maxRetries: 0 });
got.stranger = await stranger.models.list().catch((e) => `${e.constructor.name} ${e.status}`);

console.log(JSON.stringify(got));
