package main

import (
	"cmp"
	"strings"

	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/internal/screen"
)

func (p *program) catCommand(c call) error {
	meta, raw := c.is("meta"), c.is("raw")
	if meta && raw {
		return usagef("--meta and --raw exclude each other")
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	ref, err := p.hashIn(c.arg(0))
	if err != nil {
		return err
	}
	b, err := store.Find(ref)
	if err != nil {
		return err
	}
	if meta {
		return p.print(report.BlobOf(b), "hash: %s\n%s", b.Hash, screen.Sanitize(string(blobs.Encode(b.Meta, nil))))
	}
	read := report.Read(b)
	text := cmp.Or(read.Text, read.Body)
	if raw {
		text = read.Body
	}
	if isTerminal(p.out) { // a pipe gets the bytes as they are
		text = screen.Sanitize(text)
	}
	return p.print(read, "%s", text)
}

// hashIn takes the hash out of what a person gave: hash=3fa9…, a whole ref, a question's id, or the bare digits.
func (p *program) hashIn(arg string) (string, error) {
	ref := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(arg, "hash=")), "q")
	if refs := blobs.ParseRefs(arg); len(refs) == 1 {
		ref = refs[0].Hash
	}
	if len(ref) < blobs.MinPrefix || len(ref) > 64 || strings.Trim(ref, "0123456789abcdef") != "" {
		err := usagef("%q is not the hash of a stored text", arg)
		return "", hint(err, "give at least %d hex digits of a hash; ‹life› lists them", blobs.MinPrefix)
	}
	return ref, nil
}
