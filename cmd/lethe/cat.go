package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lethe/blobs"
	"lethe/chat"
	"lethe/mind"
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
		Args: args(cobra.ExactArgs(1)),
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
			return p.printBlob(b, meta, raw)
		},
	}
	cmd.Flags().BoolVar(&meta, "meta", false, "print the description instead: hash, time, gist, parent")
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bytes as they are stored")
	return cmd
}

// hashIn takes the hash out of what a person gave: hash=3fa9…, a whole ref, or
// the bare digits.
func (p *program) hashIn(arg string) (string, error) {
	ref := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(arg, "hash=")), "q") // a question's id is q and the beginning of its hash
	if refs := blobs.ParseRefs(arg); len(refs) == 1 {
		ref = refs[0].Hash
	}
	if len(ref) < blobs.MinPrefix || len(ref) > 64 || strings.Trim(ref, "0123456789abcdef") != "" {
		return "", hint(usagef("%q is not the hash of a stored text", arg), "give at least %d hex digits of a hash; %s lists them", blobs.MinPrefix, p.lethe("life"))
	}
	return ref, nil
}

func (p *program) printBlob(b blobs.Blob, meta, raw bool) error {
	answer, err := mind.DecodeAnswer(b.Body)
	isAnswer := err == nil
	if p.json {
		out := map[string]any{
			"hash": b.Hash, "at": b.At, "gist": b.Gist, "life": b.Life, "parent": b.Parent, "summary": b.Summary, "bytes": len(b.Body),
		}
		if !meta {
			out["body"] = string(b.Body)
		}
		if isAnswer && !meta {
			out["text"] = textOf(answer)
		}
		return p.printJSON(out)
	}
	if meta {
		_, err := fmt.Fprintf(p.out, "hash: %s\n%s", b.Hash, chat.Sanitize(string(blobs.Encode(b.Meta, nil))))
		return err
	}
	body := string(b.Body)
	if isAnswer && !raw {
		body = textOf(answer)
	}
	if isTerminal(p.out) { // a pipe gets the bytes as they are
		body = chat.Sanitize(body)
	}
	_, err = fmt.Fprint(p.out, body)
	return err
}

// textOf is an answer for people: what it says, then its calls.
func textOf(a mind.Answer) string {
	var b strings.Builder
	if a.Text != "" {
		b.WriteString(strings.TrimSuffix(a.Text, "\n") + "\n")
	}
	for _, c := range a.Calls {
		fmt.Fprintf(&b, "%s %s\n", c.Tool, c.Args)
	}
	return b.String()
}
