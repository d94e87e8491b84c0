#!/usr/bin/env bash
# dotenv 18.0.10 (Node), godotenv 1.5.1 and compose-go 2 (Go): one line of a .env file is three passwords.
#
# Guess:    NAME=value of a .env file means the same to each of its readers, at least without quotes and blanks.
# Behaviour: of TOKEN=ab#cd9 dotenv reads "ab", as of a comment, and the other two all of it. Of PASSWORD=pa$Word7 dotenv reads
#           all, godotenv "paord7", since names of variables have capitals there, and compose "pa"; only compose warns. A script, a
#           daemon and its container that share a file log in with three.
# Remedy:   single quotes, which all three take as they are.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund dotenv@18.0.10
cat >.env <<'ENV'
TOKEN=ab#cd9
PASSWORD=pa$Word7
QUOTED_TOKEN='ab#cd9'
QUOTED_PASSWORD='pa$Word7'
ENV
cat >main.cjs <<'JS'
const read = require('dotenv').parse(require('fs').readFileSync('.env'));
const got = ['TOKEN', 'PASSWORD', 'QUOTED_TOKEN', 'QUOTED_PASSWORD'].map(name => read[name]).join(' ');
console.log('dotenv    ', got);
process.exit(got === 'ab pa$Word7 ab#cd9 pa$Word7' ? 0 : 1);
JS
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	compose "github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/joho/godotenv"
)

func main() {
	same := true
	for _, one := range []struct {
		name  string
		read  func(...string) (map[string]string, error)
		known string
	}{
		{"godotenv  ", godotenv.Read, "ab#cd9 paord7 ab#cd9 pa$Word7"},
		{"compose-go", compose.Read, "ab#cd9 pa ab#cd9 pa$Word7"},
	} {
		values, err := one.read(".env")
		got := strings.Join([]string{
			values["TOKEN"], values["PASSWORD"], values["QUOTED_TOKEN"], values["QUOTED_PASSWORD"],
		}, " ")
		fmt.Println(one.name, got, err)
		same = same && err == nil && got == one.known
	}
	if !same {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/joho/godotenv@v1.5.1 github.com/compose-spec/compose-go/v2@v2.16.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "dotenv 18.0.10, godotenv v1.5.1, compose-go v2.16.2, Node $(node --version), $(go version)"
cat .env
node main.cjs
go run .
