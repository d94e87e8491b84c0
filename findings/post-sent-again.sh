#!/usr/bin/env bash
# @slack/web-api 8.2.0, @grammyjs/auto-retry 2.0.2: a message whose answer was lost on the way back is posted again and again.
#
# Guess:    a client waits and tries again where the server says that it did nothing (429). Whether a message was posted that no answer
#           came for, it cannot know: so it tells its caller, as telegraf and grammY without the plugin do.
# Behaviour: both send it anew, for a broken connection as for a 502 of a proxy in between: Slack's client up to ten times within
#           half an hour, the plugin without an end. Neither adds anything by which a server could tell the second from the
#           first. A room reads "Paid." four times here, and the caller learns of one.
# Remedy:   retryConfig: {retries: 0} for chat.postMessage; autoRetry({rethrowHttpErrors: true, rethrowInternalServerErrors: true}).
#
# Needs Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund grammy@1.46.0 @grammyjs/auto-retry@2.0.2 @slack/web-api@8.2.0 telegraf@4.16.3
cat >main.mjs <<'JS'
import http from 'node:http';
import {autoRetry} from '@grammyjs/auto-retry';
import {LogLevel, WebClient} from '@slack/web-api';
import {Bot} from 'grammy';
import {Telegram} from 'telegraf';
let posts = []; // what the server has posted
const server = http.createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  posts.push(body);
  if (posts.length < 4) return request.socket.destroy(); // posted, but its answer is lost
  response.writeHead(200, {'content-type': 'application/json'});
  response.end(JSON.stringify({ok: true, ts: '1', channel: 'C', result: {message_id: 1, date: 1, chat: {id: 1, type: 'private'}}}));
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const root = `http://127.0.0.1:${server.address().port}`;
const bot = () => new Bot('1:x', {client: {apiRoot: root}});
const retrying = bot();
retrying.api.config.use(autoRetry());
const ways = {
  'grammY': () => bot().api.sendMessage(1, 'Paid.'),
  'telegraf': () => new Telegram('1:x', {apiRoot: root}).sendMessage(1, 'Paid.'),
  'grammY with auto-retry': () => retrying.api.sendMessage(1, 'Paid.'),
  'slack': () => new WebClient('xoxb-x', {slackApiUrl: `${root}/api/`, logLevel: LogLevel.ERROR})
    .chat.postMessage({channel: 'C', text: 'Paid.'}),
};
let seen = '';
for (const [name, post] of Object.entries(ways)) {
  posts = [];
  const told = await post().then(() => 'one', () => 'an error');
  console.log(`${name}: posted ${posts.length}, all alike: ${posts.every(body => body === posts[0])}, told of: ${told}`);
  seen += `${posts.length} ${told}; `;
}
process.exit(seen === '1 an error; 1 an error; 4 one; 4 one; ' ? 0 : 1);
JS
echo "@slack/web-api 8.2.0, @grammyjs/auto-retry 2.0.2, grammY 1.46.0, telegraf 4.16.3, Node $(node --version)"
node main.mjs
