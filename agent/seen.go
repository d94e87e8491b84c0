package agent

import (
	"fmt"

	"lethe/agent/part"
	"lethe/agent/tools"
	"lethe/internal/secret/shape"
	"lethe/mind/files"
)

// mostKept bounds a text that is kept when it is replaced, in bytes.
const mostKept = 1 << 20

// files returns the files of the life, as it saw them last.
func (c *caller) files() *files.Fold {
	if c.seen == nil {
		c.seen = c.ID.Files()
	}
	return c.seen
}

// change plans the change of a file, and refuses it where somebody has changed the file since the life saw it.
func (c *caller) change(in *intent, change *tools.Change) {
	in.effect = change.Run
	if was := change.Was; was != nil {
		shown, err := c.files().Refuse(was.File, was.Text)
		if shown {
			in.saw = *was
		}
		if in.err = err; err != nil {
			return
		}
		if in.change.Kept = was.Text != "" && len(was.Text) <= mostKept; in.change.Kept {
			in.files = []part.Body{{Gist: "what " + was.Name + " was", Data: shape.Bytes([]byte(was.Text))}}
		}
	}
	if change.Now.Name != "" {
		in.change.Makes = change.Now.File
	}
}

// look takes in the file that a call has shown or made, and tells the model where the text is that it replaced.
func (c *caller) look(tool string, result *tools.Result) {
	if result.Saw.Name == "" {
		return
	}
	c.files().See(result.Saw.File, result.Saw.Text)
	versions := c.files().Files[result.Saw.Name]
	if was := versions[len(versions)-1].Was; tool == "WRITE_FILE" && was != "" { // an edit has its old text itself
		result.Body = fmt.Appendf(result.Body, "; before: hash=%s", was)
	}
}
