#!/usr/bin/env bash
# BurntSushi/toml 1.6.0: of two files read into one value, the second one's [[server]] has the first one's token.
#
# Guess:    a list in the second file replaces the first file's list, or is appended to it; its elements begin empty, as a map's do.
# Behaviour: where the second list is no longer than the first, its elements are reused. So [[server]] with another url and no
#           token has the token of the first file's server, which the program then sends to another host. A map's entry does
#           begin empty.
# Remedy:   decode each file into a value of its own, or set lists to nil before.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/BurntSushi/toml"
)

type server struct{ URL, Token string }

var settings struct {
	Server []server
	Named  map[string]server
}

const system = `
[[server]]
url = "https://inside.example"
token = "secret"
[[server]]
url = "https://second.example"
[named.a]
url = "https://inside.example"
token = "secret"
`

const user = `
[[server]]
url = "https://elsewhere.example"
[named.a]
url = "https://elsewhere.example"
`

func main() {
	for _, file := range []string{system, user} {
		if _, err := toml.Decode(file, &settings); err != nil {
			panic(err)
		}
		fmt.Printf("%+v\n", settings)
	}
	mixed := len(settings.Server) == 1 && settings.Server[0] == server{"https://elsewhere.example", "secret"}
	if !mixed || settings.Named["a"].Token != "" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/BurntSushi/toml@v1.6.0 >/dev/null 2>&1
echo "toml v1.6.0, $(go version)"
go run .
