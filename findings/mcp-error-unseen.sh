#!/usr/bin/env bash
# @openai/agents 0.20.0, @ai-sdk/mcp 2.0.99, @langchain/mcp-adapters 1.1.4: a model is not told that an MCP tool failed, or what it gave.
#
# Guess:    a result with isError comes to the model as an error; one that has its values in structuredContent alone, which the
#           protocol advises against and allows, comes as these; and the text of an embedded resource is a text.
# Behaviour: agents and ai hand on the text of an error as the text of a success. "3 files removed" of a tool that then failed reads
#           like all is done. Values in structuredContent alone are "[]" or nothing to the model, in all three, without an error.
#           LangChain's does tell of an error, but the text of a file that comes as a resource is put aside in an artifact that
#           no model reads.
# Remedy:   let servers say in the text that they failed, and repeat there what is structured or embedded; in LangChain outputHandling.
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @openai/agents@0.20.0 @ai-sdk/mcp@2.0.99 ai@7.0.173 zod@4.6.7 \
	@langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0 @modelcontextprotocol/sdk@1.29.0
cat >server.mjs <<'JS'
import {Server} from '@modelcontextprotocol/sdk/server/index.js';
import {StdioServerTransport} from '@modelcontextprotocol/sdk/server/stdio.js';
import {CallToolRequestSchema, ListToolsRequestSchema} from '@modelcontextprotocol/sdk/types.js';
const results = {
  failed: {isError: true, content: [{type: 'text', text: '3 files removed'}]},
  structured: {content: [], structuredContent: {price: 12}},
  embedded: {content: [{type: 'resource', resource: {uri: 'file:///notes.md', mimeType: 'text/markdown', text: 'closed on Mondays'}}]},
};
const server = new Server({name: 'a server', version: '1'}, {capabilities: {tools: {}}});
server.setRequestHandler(ListToolsRequestSchema, async () =>
  ({tools: Object.keys(results).map(name => ({name, inputSchema: {type: 'object', properties: {}}}))}));
server.setRequestHandler(CallToolRequestSchema, async request => results[request.params.name]);
await server.connect(new StdioServerTransport());
JS
cat >main.mjs <<'JS'
import {Agent, MCPServerStdio, Runner, setTracingDisabled, Usage} from '@openai/agents';
import {createMCPClient} from '@ai-sdk/mcp';
import {Experimental_StdioMCPTransport as StdioTransport} from '@ai-sdk/mcp/mcp-stdio';
import {generateText, stepCountIs} from 'ai';
import {MockLanguageModelV4} from 'ai/test';
import {MultiServerMCPClient} from '@langchain/mcp-adapters';
const start = {command: 'node', args: ['server.mjs']}, names = ['failed', 'structured', 'embedded'];
const seen = {agents: {}, ai: {}, langchain: {}}; // what a model is given, as JSON
setTracingDisabled(true);
const agents = new MCPServerStdio(start);
await agents.connect();
for (const name of names) {
  let turn = 0;
  const answer = output => ({usage: new Usage({inputTokens: 1, outputTokens: 1, totalTokens: 2}), output: [output]});
  const model = {getResponse: async request => {
    if (turn++ === 0) return answer({type: 'function_call', callId: '1', name, arguments: '{}', status: 'completed'});
    seen.agents[name] = JSON.stringify(request.input.at(-1));
    return answer({type: 'message', role: 'assistant', status: 'completed', content: [{type: 'output_text', text: 'done'}]});
  }};
  await new Runner().run(new Agent({name: 'an agent', model, mcpServers: [agents]}), 'x');
}
await agents.close();
const client = await createMCPClient({transport: new StdioTransport(start)});
const tools = await client.tools();
for (const name of names) {
  let turn = 0;
  const answer = (content, unified) => ({content: [content], finishReason: {unified, raw: unified}, warnings: [],
    usage: {inputTokens: {total: 1}, outputTokens: {total: 1}}});
  const model = new MockLanguageModelV4({doGenerate: async request => {
    if (turn++ === 0) return answer({type: 'tool-call', toolCallId: '1', toolName: name, input: '{}'}, 'tool-calls');
    seen.ai[name] = JSON.stringify(request.prompt.at(-1));
    return answer({type: 'text', text: 'done'}, 'stop');
  }});
  await generateText({model, tools, prompt: 'x', stopWhen: stepCountIs(3)});
}
await client.close();
const servers = new MultiServerMCPClient({mcpServers: {s: {transport: 'stdio', ...start}}});
for (const tool of await servers.getTools()) {
  const result = await tool.invoke({type: 'tool_call', id: '1', name: tool.name, args: {}}).catch(error => ({error: error.message}));
  seen.langchain[tool.name] = JSON.stringify(result.error ? result : {content: result.content, status: result.status});
}
await servers.close();
console.log(seen);
const without = (name, word, ...libraries) => libraries.every(library => !seen[library][name].includes(word));
const right = without('failed', 'rror', 'agents', 'ai') && seen.agents.failed.includes('"completed"')
  && seen.langchain.failed.includes('returned an error') && without('structured', '12', 'agents', 'ai', 'langchain')
  && without('embedded', 'Mondays', 'langchain') && ['ai', 'agents'].every(library => seen[library].embedded.includes('Mondays'));
process.exit(right ? 0 : 1);
JS
echo "@openai/agents 0.20.0, @ai-sdk/mcp 2.0.99, ai 7.0.173, @langchain/mcp-adapters 1.1.4, Node $(node --version)"
AI_SDK_LOG_WARNINGS=false node main.mjs
