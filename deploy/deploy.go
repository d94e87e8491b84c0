// Package deploy holds the files that keep Lethe running on a machine: see README.md.
package deploy

import _ "embed"

// UserUnit is the unit of systemd for one person without root. It runs /usr/local/bin/lethe with Telegram.
//
//go:embed user/lethe.service
var UserUnit string
