#!/usr/bin/env bash
# ioredis 6.0.0: one INCR over a connection that fell silent counts two, one RPUSH queues a job twice, and no call fails.
#
# Guess:    a command whose answer did not come in time fails, and its caller decides, as with node-redis: nobody knows whether it
#           was carried out. What is sent again by itself is what was never sent.
# Behaviour: with socketTimeout, a server that stands still for some seconds (a snapshot, a paused machine) makes the client connect
#           anew, and it sends what was not answered a second time. The server does both. incr() says 2, where 0 was before;
#           a queue has two jobs for one. Not so with commandTimeout, which fails, though the command is carried out once.
# Remedy:   autoResendUnfulfilledCommands: false, and a key of your own for what must happen once (SET … NX in one script with it).
#
# Needs Node, and redis-server or apt-get on Debian. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
chmod 755 "$dir"
server=
trap '[ -z "$server" ] || { kill -KILL "$server"; wait "$server" 2>/dev/null || true; }; rm -rf "$dir"' EXIT
cd "$dir"
if ! redis=$(command -v redis-server); then
	apt-get download redis-server redis-tools libjemalloc2 liblzf1 liblua5.1-0 lua-bitop lua-cjson >/dev/null 2>&1
	for package in *.deb; do dpkg -x "$package" root; done
	export LD_LIBRARY_PATH="$dir/root/usr/lib/$(uname -m)-linux-gnu"
	redis="$dir/root/usr/bin/redis-check-rdb" # the same program: redis-server is a link to it
fi
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ioredis@6.0.0 redis@6.3.1
(exec -a redis-server "$redis" --port 0 --unixsocket "$dir/socket" --save '' >log) &
server=$!
until [ -S "$dir/socket" ]; do sleep 0.1; done
cat >main.mjs <<'JS'
import Redis from 'ioredis';
import {createClient} from 'redis';
const [path, server] = [process.argv[2], Number(process.argv[3])];
const plain = new Redis({path}); // looks what is there
const wait = time => new Promise(done => setTimeout(done, time));
const still = async work => { // the server stands still for four seconds, from just before the work
  process.kill(server, 'SIGSTOP');
  setTimeout(() => process.kill(server, 'SIGCONT'), 4000);
  const told = await work().catch(() => 'an error');
  await wait(6000);
  return told;
};
const seen = [];
for (const option of ['socketTimeout', 'commandTimeout']) {
  const client = new Redis({path, [option]: 1000});
  client.on('error', () => {});
  await client.ping();
  const told = await still(async () => (await Promise.all([client.incr(`${option}:n`), client.rpush(`${option}:jobs`, 'pay')]))[0]);
  seen.push([`ioredis, ${option}`, told, await plain.get(`${option}:n`), await plain.lrange(`${option}:jobs`, 0, -1)]);
  client.disconnect();
}
const client = createClient({socket: {path, socketTimeout: 1000}});
client.on('error', () => {});
await client.connect();
const told = await still(() => client.incr('other:n'));
seen.push(['node-redis, socketTimeout', told, await plain.get('other:n')]);
client.destroy();
plain.disconnect();
for (const [name, told, count, jobs] of seen) console.log(`${name}: told ${told}, count ${count}${jobs ? `, jobs ${jobs.join(' ')}` : ''}`);
const known = [['2', '2', 'pay pay'], ['an error', '1', 'pay'], ['an error', '1', undefined]];
process.exit(JSON.stringify(seen.map(([, told, count, jobs]) => [`${told}`, count, jobs?.join(' ')])) === JSON.stringify(known) ? 0 : 1);
JS
echo "ioredis 6.0.0, node-redis 6.3.1, Redis $("$redis" --version | sed -nE "1s/.*[v ]=?([0-9.]+[0-9]).*/\1/p"), Node $(node --version)"
node main.mjs "$dir/socket" "$server"
