package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"lethe/blobs"
	"lethe/chat"
	"lethe/report"
)

func (p *program) catCommand() *cobra.Command {
	var meta, raw bool
	cmd := &cobra.Command{
		Use:   "cat REF",
		Short: "Print a stored text: an answer, a result, a summary",
		Long: `Cat prints the text that is stored under a hash, or the beginning of one, and checks
it against the hash. An answer of the model is printed as text, followed by its calls
of tools; --raw prints it as it is stored, with the reasoning.`,
		Example: `  lethe cat 3fa9c0d2e1b4a5f6
  lethe cat --meta 3fa9c0d2e1b4a5f6`,
		RunE: func(_ *cobra.Command, list []string) error {
			if meta && raw {
				return usagef("--meta and --raw exclude each other")
			}
			store, err := p.store()
			if err != nil {
				return err
			}
			ref, err := p.hashIn(list[0])
			if err != nil {
				return err
			}
			h, err := store.Resolve(ref)
			if err != nil {
				return err
			}
			b, err := store.Get(h)
			if err != nil {
				return err
			}
			if meta {
				return p.print(report.BlobOf(b), "hash: %s\n%s", b.Hash, chat.Sanitize(string(blobs.Encode(b.Meta, nil))))
			}
			read := report.Read(b)
			text := cmp.Or(read.Text, read.Body)
			if raw {
				text = read.Body
			}
			if isTerminal(p.out) { // a pipe gets the bytes as they are
				text = chat.Sanitize(text)
			}
			return p.print(read, "%s", text)
		},
	}
	option(cmd, &meta, "meta", "print the description instead: hash, time, gist, parent")
	option(cmd, &raw, "raw", "print the bytes as they are stored")
	return cmd
}

// hashIn takes the hash out of what a person gave: hash=3fa9…, a whole ref, a question's id, or the bare digits.
func (p *program) hashIn(arg string) (string, error) {
	ref := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(arg, "hash=")), "q")
	if refs := blobs.ParseRefs(arg); len(refs) == 1 {
		ref = refs[0].Hash
	}
	if len(ref) < blobs.MinPrefix || len(ref) > 64 || strings.Trim(ref, "0123456789abcdef") != "" {
		err := usagef("%q is not the hash of a stored text", arg)
		return "", hint(err, "give at least %d hex digits of a hash; %s lists them", blobs.MinPrefix, p.lethe("life"))
	}
	return ref, nil
}
