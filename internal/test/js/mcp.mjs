// Talks to /mcp of lethe serve as agents in JavaScript do, with the protocol's own client, and prints what it got.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const transport = new StreamableHTTPClientTransport(new URL(process.env.URL), {
  requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } },
});
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const got = {};
got.server = client.getServerVersion().name;
got.told = client.getInstructions().includes("recall");
got.tools = (await client.listTools()).tools.map((t) => t.name);
const call = async (name, args, progress) =>
  (await client.callTool({ name, arguments: args }, undefined, { onprogress: progress })).content[0].text;
got.answer = JSON.parse(await call("ask", { question: "what is 12*7?" })).text;
got.steps = [];
await call("ask", { question: "run echo hello" }, (p) => got.steps.push(p.message));
got.lines = JSON.parse(await call("read_room", { room: "dev", lines: 200 })).map((l) => l.text);
got.room = JSON.parse((await client.readResource({ uri: "lethe://room/dev" })).contents[0].text).length;
got.rooms = (await client.listResources()).resources.map((r) => r.uri);
got.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
got.refused = (await client.callTool({ name: "ask", arguments: { question: "x", identity: "eve" } })).isError;
got.missing = await client.readResource({ uri: "lethe://blob/zz" }).catch((e) => e.code);
await client.close();
console.log(JSON.stringify(got));
