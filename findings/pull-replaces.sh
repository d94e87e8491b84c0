#!/usr/bin/env bash
# go-git 5.19.3: a pull replaces a file that git never knew by one of the same name that came from the remote.
#
# Guess:    Pull and Checkout without Force refuse where a file that is not tracked would be overwritten, as git does: they
#           do refuse where a tracked file was changed.
# Behaviour: they write over it, and return nil. What stood in it is nowhere: no commit, no stash, no reflog has it. Notes, a .env
#           or an answer that an agent wrote beside the repository's files are lost once somebody else commits that name.
# Remedy:   before a pull, fetch, and look for each path of the new tree that the index does not have; or run git itself.
#
# Needs Go and git. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
mkdir repositories
cd repositories
git init -q -b main remote
echo 1 >remote/tracked
git -C remote add . && git -C remote commit -qm one
for clone in git pull checkout; do git clone -q remote $clone; done
echo 'of the remote' >remote/notes
git -C remote add . && git -C remote commit -qm two
for clone in git pull checkout; do echo mine >$clone/notes; done
git -C checkout fetch -q
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	notes := func(clone string) string { return string(must(os.ReadFile("repositories/" + clone + "/notes"))) }
	refused := exec.Command("git", "-C", "repositories/git", "pull", "-q").Run()
	fmt.Printf("git pull:         %v, notes %q\n", refused, notes("git"))

	repository := must(git.PlainOpen("repositories/pull"))
	pulled := must(repository.Worktree()).Pull(&git.PullOptions{})
	fmt.Printf("go-git Pull:      %v, notes %q\n", pulled, notes("pull"))

	repository = must(git.PlainOpen("repositories/checkout"))
	to := must(repository.Reference(plumbing.NewRemoteReferenceName("origin", "main"), true)).Hash()
	out := must(repository.Worktree()).Checkout(&git.CheckoutOptions{Hash: to})
	fmt.Printf("go-git Checkout:  %v, notes %q\n", out, notes("checkout"))

	replaced := notes("pull") == "of the remote\n" && notes("checkout") == "of the remote\n"
	if refused == nil || notes("git") != "mine\n" || pulled != nil || out != nil || !replaced {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/go-git/go-git/v5@v5.19.3 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "go-git v5.19.3, $(git --version), $(go version)"
go run .
