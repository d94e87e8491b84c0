// Package lethe holds the texts that a new identity starts with.
//
// The program is in cmd/lethe; agent runs identities, and docs/design.md says how
// the packages hang together.
package lethe

import _ "embed"

// Soul, Segment and Summarise are the default SOUL.md, SEGMENT.md and
// SUMMARISE.md: an identity's purpose, how it cuts its past into chunks, and how
// it summarises them. Each identity gets copies at boot.
var (
	//go:embed SOUL.md
	Soul string
	//go:embed SEGMENT.md
	Segment string
	//go:embed SUMMARISE.md
	Summarise string
)

// Version is the program's version.
const Version = "0.1.0"
