package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lethe/blobs"
	"lethe/chat"
)

func (p *program) catCommand() *cobra.Command {
	var meta bool
	cmd := &cobra.Command{
		Use:   "cat REF",
		Short: "Print a blob's body, checked against its hash",
		Example: `  lethe cat 3fa9c0d2e1b4a5f6
  lethe cat --meta 3fa9c0d2e1b4a5f6`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			store, err := p.store()
			if err != nil {
				return err
			}
			ref, err := hashIn(list[0])
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
			return p.printBlob(b, meta)
		},
	}
	cmd.Flags().BoolVar(&meta, "meta", false, "print its frontmatter instead")
	return cmd
}

// hashIn takes the hash out of what a person gave: hash=3fa9…, a whole ref, or
// the bare digits.
func hashIn(arg string) (string, error) {
	ref := strings.ToLower(strings.TrimPrefix(arg, "hash="))
	if refs := blobs.ParseRefs(arg); len(refs) == 1 {
		ref = refs[0].Hash
	}
	if len(ref) < blobs.MinPrefix || len(ref) > 64 || strings.Trim(ref, "0123456789abcdef") != "" {
		return "", hint(usagef("%q is not the hash of a blob", arg), "lethe life shows them, as hash=…; %d digits are the least", blobs.MinPrefix)
	}
	return ref, nil
}

func (p *program) printBlob(b blobs.Blob, meta bool) error {
	if p.json {
		return p.printJSON(map[string]any{
			"hash": b.Hash, "at": b.At, "gist": b.Gist, "life": b.Life, "parent": b.Parent, "bytes": len(b.Body), "body": string(b.Body),
		})
	}
	if meta {
		_, err := fmt.Fprintf(p.out, "hash: %s\n%s", b.Hash, chat.Sanitize(string(blobs.Encode(b.Meta, nil))))
		return err
	}
	body := b.Body
	if isTerminal(p.out) { // a pipe gets the bytes as they are
		body = []byte(chat.Sanitize(string(body)))
	}
	_, err := p.out.Write(body)
	return err
}
