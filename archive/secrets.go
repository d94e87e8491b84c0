package archive

import (
	"bytes"
	"regexp"

	"lethe/internal/lazy"
)

// secrets list the kinds of keys with their forms, and a hint that is quicker to find than the form.
var secrets = []struct {
	kind, hint string
	form       func() *regexp.Regexp
}{
	{"private key", "PRIVATE KEY-----", lazy.Regexp(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
	{"age key", "AGE-SECRET-KEY-", lazy.Regexp(`AGE-SECRET-KEY-(PQ-)?1[0-9A-Z]{20}`)},
	{"API key (sk-…)", "sk-", lazy.Regexp(`\bsk-[\w-]*\d[\w-]{15}|\bsk-[\w-]{15,}\d`)},
	{"GitHub token", "gh", lazy.Regexp(`\b(gh[pousr]|github_pat)_\w{30}`)},
	{"AWS key", "AKIA", lazy.Regexp(`\bAKIA[0-9A-Z]{16}\b`)},
	{"Slack token", "xox", lazy.Regexp(`\bxox[abprs]-[\w-]{10}`)},
	{"Telegram token", ":AA", lazy.Regexp(`\b\d{8,12}:AA[\w-]{33}\b`)},
	{"JSON web token", ".eyJ", lazy.Regexp(`\beyJ[\w-]{10,}\.eyJ[\w-]{10}`)},
	{"password", "assword", lazy.Regexp(`[Pp]assword"?\s*(is|[:=])\s*(\S{0,30}\d\S{5}|\S{5,30}\d)`)},
}

// scanner notes of what is written to it which kinds of keys it has.
type scanner map[string]bool

func (s scanner) Write(p []byte) (int, error) {
	for _, k := range secrets {
		if !s[k.kind] && bytes.Contains(p, []byte(k.hint)) && k.form().Match(p) {
			s[k.kind] = true
		}
	}
	return len(p), nil
}
