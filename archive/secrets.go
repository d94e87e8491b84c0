package archive

import (
	"bytes"
	"regexp"
)

// secret is what keys look like; each has one of the hints in it, which are quicker to find.
var (
	secret = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|AGE-SECRET-KEY-|\bsk-[\w-]{20}|\bgh[pousr]_\w{30}|\bgithub_pat_\w{30}|` +
		`\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10}|\b\d{8,12}:AA[\w-]{33}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10}|[Pp]assword"?\s*(is|[:=])\s*\S{6}`)
	hints = []string{"PRIVATE KEY-----", "AGE-SECRET-KEY-", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "xox", ":AA", ".eyJ", "assword"}
)

// scanner tells whether what is written to it has what looks like a key.
type scanner struct{ found bool }

func (s *scanner) Write(p []byte) (int, error) {
	for _, hint := range hints {
		if !s.found && bytes.Contains(p, []byte(hint)) {
			s.found = secret.Match(p)
		}
	}
	return len(p), nil
}
