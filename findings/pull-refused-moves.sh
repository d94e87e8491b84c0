#!/usr/bin/env bash
# isomorphic-git 1.44.19: a pull that is refused has moved the branch all the same, and the next commit takes others' work back.
#
# Guess:    pull fails with CheckoutConflictError where a local change is in the way, and changes nothing, as git does.
# Behaviour: the branch names the others' commit before the files are tried. The error leaves their new files missing and their
#           changes undone in the index, as if the user had staged that. Whoever handles the error by a message, and commits
#           another file later, commits the way back: others' files are deleted, and a push takes it to all.
# Remedy:   fetch, look with statusMatrix, and merge only then; or note the branch, and write it back after the error.
#
# Needs Node and git with http-backend. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export HOME=$dir GIT_CONFIG_NOSYSTEM=1
git config --global user.name ben
git config --global user.email ben@example.org
git config --global init.defaultBranch main
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund isomorphic-git@1.44.19
git init -q --bare origin.git
git clone -q origin.git ben 2>/dev/null
(cd ben && echo 9 >plan.txt && echo tea >list.txt && git add . && git commit -qm first && git push -q origin HEAD:main)
git clone -q origin.git plain 2>/dev/null # what git does
cat >main.mjs <<'JS'
import {createServer} from 'node:http';
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import git from 'isomorphic-git';
import http from 'isomorphic-git/http/node';

// A server of git over http, with git's own program for it.
const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://x');
  const backend = spawn('git', ['http-backend'], {env: {...process.env, GIT_PROJECT_ROOT: process.cwd(), GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: url.pathname, QUERY_STRING: url.search.slice(1), REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers['content-type'] ?? ''}});
  request.pipe(backend.stdin);
  const parts = [];
  backend.stdout.on('data', part => parts.push(part)).on('end', () => {
    const all = Buffer.concat(parts), end = all.indexOf('\r\n\r\n');
    for (const line of all.subarray(0, end).toString().split('\r\n')) response.setHeader(...line.split(': '));
    response.end(all.subarray(end + 4));
  });
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const sh = (dir, ...args) => execFileSync(args[0], args.slice(1), {cwd: dir, stdio: ['ignore', 'pipe', 'pipe']}).toString().trim();
const names = (dir, ...args) => sh(dir, 'git', ...args, '--name-status').replaceAll('\t', ' ').replaceAll('\n', ', ') || 'nothing';
const state = dir => `branch at "${sh(dir, 'git', 'log', '-1', '--format=%s')}", staged: ${names(dir, 'diff', '--cached')}`;
const dir = 'mine', author = {name: 'ada', email: 'ada@example.org'};
await git.clone({fs, http, dir, ref: 'main', singleBranch: true, url: `http://127.0.0.1:${server.address().port}/origin.git`});
sh('ben', 'sh', '-c', 'echo 10 >plan.txt; echo 0443 >phone.txt; git add .; git commit -qm second; git push -q origin HEAD:main');
const seen = [];
const tell = line => { seen.push(line); console.log(line); };

fs.writeFileSync('plain/plan.txt', '9, not later\n');
let refused = 'no error';
try { sh('plain', 'git', 'pull', '-q', '--ff-only'); } catch (error) { refused = 'refused'; }
tell(`git: pull ${refused}; ${state('plain')}`);

fs.writeFileSync('mine/plan.txt', '9, not later\n');
refused = 'no error';
try { await git.pull({fs, http, dir, ref: 'main', singleBranch: true, author}); } catch (error) { refused = error.code; }
tell(`isomorphic-git: pull ${refused}; ${state('mine')}`);

fs.writeFileSync('mine/list.txt', 'tea, salt\n');
await git.add({fs, dir, filepath: 'list.txt'});
await git.commit({fs, dir, author, message: 'list.txt: add salt'});
tell(`then list.txt is added and committed; the commit: ${names('mine', 'show', '--format=', 'HEAD')}`);
tell(`plan.txt in it: ${sh('mine', 'git', 'show', 'HEAD:plan.txt')}`);
server.close();
const known = ['git: pull refused; branch at "first", staged: nothing',
  'isomorphic-git: pull CheckoutConflictError; branch at "second", staged: D phone.txt, M plan.txt',
  'then list.txt is added and committed; the commit: M list.txt, D phone.txt, M plan.txt', 'plan.txt in it: 9'];
process.exit(JSON.stringify(seen) === JSON.stringify(known) ? 0 : 1);
JS
echo "isomorphic-git 1.44.19, Node $(node --version), $(git --version)"
node main.mjs
