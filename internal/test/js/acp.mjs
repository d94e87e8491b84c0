// Talks to lethe acp as editors in JavaScript do, with the protocol's own library, and prints what it got.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { agent } = acp.methods;
const cwd = process.env.DIR;
const got = { shown: [], calls: [], asked: [], options: [] };

const editor = acp
  .client({ name: "test" })
  .onRequest(acp.methods.client.session.requestPermission, () => ({ outcome: { outcome: "cancelled" } }))
  .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
    got.asked.push(params.message, params.sessionId === got.session, Object.keys(params.requestedSchema.properties));
    return { action: "accept", content: { answer: "green" } };
  })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    if (update.content?.text) got.shown.push(update.content.text);
    if (update.sessionUpdate === "tool_call") got.calls.push(update.title);
    if (update.sessionUpdate === "config_option_update") got.options.push(update.configOptions[0].currentValue);
  });

// connects runs lethe acp and f, and puts the exit code and what it wrote on standard error into got.
const connects = async (f) => {
  const lethe = spawn(process.env.LETHE, ["--home", process.env.LETHE_HOME, "acp"]);
  let said = "";
  lethe.stderr.on("data", (data) => (said += data));
  const ended = new Promise((done) => lethe.on("exit", done));
  const limit = { maxMessageBytes: 200 << 20 };
  const stream = acp.ndJsonStream(Writable.toWeb(lethe.stdin), Readable.toWeb(lethe.stdout), limit);
  const talk = editor.connectWith(stream, async (ctx) => {
    const elicitation = { form: {} };
    const about = await ctx.request(agent.initialize, { protocolVersion: 1, clientCapabilities: { elicitation } });
    got.can = Object.keys(about.agentCapabilities.sessionCapabilities).sort();
    await f(ctx);
  });
  await talk.catch((e) => (got.broken = e.message));
  lethe.stdin.end();
  got.exit = await ended;
  got.stderr = said;
};
const refusal = (promise) => promise.then(() => "taken", (e) => `${e.code} ${e.message}`);
const said = (text) => [{ type: "text", text }];

await connects(async (ctx) => {
  got.login = await refusal(ctx.request(agent.authenticate, { methodId: "nothing" }));
  const mcpServers = [{ name: "files", command: "x", args: [], env: [] }, { type: "pigeon", name: "roof" }];
  const opened = await ctx.request(agent.session.new, { cwd, mcpServers });
  const sessionId = (got.session = opened.sessionId);
  const options = opened.configOptions;
  got.has = options.map((o) => `${o.id} ${o.category} ${o.currentValue}`);
  const sets = (configId, value) =>
    ctx.request(agent.session.setConfigOption, { sessionId, configId, value }).then((r) => r.configOptions.map((o) => o.currentValue));
  got.limited = await sets("limit", "64000");
  got.modelled = await sets("model", "deepseek-v4-flash");
  got.wrong = await refusal(sets("limit", "many"));
  got.unknown = await refusal(sets("colour", "red"));
  const says = (prompt) => ctx.request(agent.session.prompt, { sessionId, prompt });
  await says(said("run echo hello"));
  got.end = (await says(said("ask me which colour I like"))).stopReason;
  got.big = await refusal(says([{ type: "image", mimeType: "image/png", data: "A".repeat(11 << 20) }]));
  got.kind = await refusal(says([{ type: "smell", data: "x" }]));
  const stopped = new AbortController();
  const long = ctx.request(agent.session.prompt, { sessionId, prompt: said("run sleep 60") }, { cancellationSignal: stopped.signal });
  while (!got.calls.some((c) => c.includes("sleep"))) await new Promise((done) => setTimeout(done, 20));
  stopped.abort();
  got.cancelled = await long.then((r) => r.stopReason, (e) => e.code);
});

got.first = got.shown.join("");
[got.shown, got.calls, got.ran] = [[], [], got.calls];
await connects(async (ctx) => {
  const sessionId = got.session;
  await ctx.request(agent.session.load, { sessionId, cwd, mcpServers: [] });
  got.loaded = got.calls;
  await ctx.request(agent.session.delete, { sessionId });
  got.left = (await ctx.request(agent.session.list, {})).sessions.map((s) => s.sessionId);
  got.dev = await refusal(ctx.request(agent.session.delete, { sessionId: "dev" }));
});
[got.again, got.exitOfFirst] = [got.shown.join(""), got.exit];

await connects(async (ctx) => {
  const { sessionId } = await ctx.request(agent.session.new, { cwd, mcpServers: [] });
  await ctx.request(agent.session.prompt, { sessionId, prompt: said("A".repeat(65 << 20)) });
});
console.log(JSON.stringify(got));
