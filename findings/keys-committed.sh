#!/usr/bin/env bash
# go-git 5.19.3 (Go) and isomorphic-git 1.44.19 (Node): files that git ignores for this user or this clone are committed.
#
# Guess:    "add all" leaves out what `git status` does not show, as git does.
# Behaviour: there are three lists: .gitignore, .git/info/exclude of the clone, and core.excludesFile of the user. go-git reads the
#           first one, isomorphic-git the first two. What people keep out by the others, as their own keys and notes that no
#           colleague's .gitignore names, is in the agent's next commit, and pushed.
# Remedy:   go-git: append to worktree.Excludes what gitignore.LoadGlobalPatterns and the lines of .git/info/exclude say. Or add files
#           by their names, and ask `git check-ignore` about new ones.
#
# Needs Go, Node and git. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
go=$(go env GOPATH GOMODCACHE GOCACHE | tr '\n' ' ')
read -r GOPATH GOMODCACHE GOCACHE <<<"$go"
export GOPATH GOMODCACHE GOCACHE HOME=$dir GIT_CONFIG_NOSYSTEM=1
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund isomorphic-git@1.44.19
cat >main.go <<'GO'
package main

import (
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	tree := must(must(git.PlainOpen("go-git")).Worktree())
	must(0, tree.AddWithOptions(&git.AddOptions{All: true}))
	must(tree.Commit("second", &git.CommitOptions{Author: &object.Signature{Name: "ada", When: time.Now()}}))
}
GO
cat >main.mjs <<'JS'
import fs from 'node:fs';
import git from 'isomorphic-git';
const dir = 'isomorphic-git';
await git.add({fs, dir, filepath: '.'});
await git.commit({fs, dir, message: 'second', author: {name: 'ada', email: 'ada@example.org'}});
JS
go mod init finding >/dev/null 2>&1
go get github.com/go-git/go-git/v5@v5.19.3 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
git config --global user.name ada
git config --global user.email ada@example.org
git config --global core.excludesFile "$dir/mine"
echo '*.key' >mine
for with in git go-git isomorphic-git; do
	git init -q "$with"
	(
		cd "$with"
		echo '*.log' >.gitignore
		git add . && git commit -qm first
		echo '/keys.env' >>.git/info/exclude
		touch today.log keys.env ada.key new.txt
	)
done
echo "go-git v5.19.3, isomorphic-git 1.44.19, $(git --version); ignored: *.log by .gitignore, keys.env by the clone, *.key by the user"
(cd git && git add --all && git commit -qm second)
go run .
node main.mjs
for with in git go-git isomorphic-git; do
	echo "$with commits: $(git -C "$with" show --format= --name-only HEAD | tr '\n' ' ')"
done | tee got
cat >known <<'KNOWN'
git commits: new.txt 
go-git commits: ada.key keys.env new.txt 
isomorphic-git commits: ada.key new.txt 
KNOWN
cmp known got
