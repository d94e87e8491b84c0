package acp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/agent/events"
	"lethe/bridge"
	"lethe/internal/screen"
)

// maxEmbedded bounds the bytes of a file that is shown: an editor may take messages of 10 MB, a third of it for base64.
const maxEmbedded = 5 << 20

// said shows what the identity has said, and the files that it sent with it.
func (v *view) said(text string) {
	text, files := bridge.Attachments(v.Store, v.self.Name, text)
	v.say(text + "\n")
	for _, file := range files {
		b, err := v.Store.Get(file.Hash)
		data := base64.StdEncoding.EncodeToString(b.Body)
		shown := err == nil && file.Size <= maxEmbedded
		if shown && file.Kind == "photo" {
			v.send(sdk.UpdateAgentMessage(sdk.ImageBlock(data, file.Type)))
			continue
		}
		v.say(fmt.Sprintf("%s: lethe cat %.16s > %[1]s\n", file.Name, file.Hash)) // many editors pass over a resource
		if shown {
			contents := &sdk.BlobResourceContents{Blob: data, MimeType: &file.Type, Uri: "lethe:" + file.Name}
			resource := sdk.EmbeddedResourceResource{BlobResourceContents: contents}
			v.send(sdk.UpdateAgentMessage(sdk.ResourceBlock(resource)))
		}
	}
}

// touches names the file that a call is about, so that the editor follows, and the change in it.
func (v *view) touches(event events.Event) (opts []sdk.ToolCallStartOpt) {
	var args struct{ Path, Old, New, Content string }
	_ = json.Unmarshal(event.Args, &args) // what is no text is left out
	if args.Path == "" {
		return nil
	}
	path, own := strings.CutPrefix(args.Path, "self/")
	switch {
	case own:
		path = filepath.Join(v.self.Dir, path)
	case !filepath.IsAbs(path):
		path = filepath.Join(cmp.Or(v.folder, v.Workspace, filepath.Join(v.self.Dir, "workspace")), path)
	}
	opts = append(opts, sdk.WithStartLocations([]sdk.ToolCallLocation{{Path: path}}))
	if kinds[event.Tool] == sdk.ToolKindEdit {
		diff := sdk.ToolDiffContent(path, screen.Sanitize(args.New+args.Content))
		if args.Old != "" { // else the whole file is new
			diff.Diff.OldText = sdk.Ptr(screen.Sanitize(args.Old))
		}
		opts = append(opts, sdk.WithStartContent([]sdk.ToolCallContent{diff}))
	}
	return opts
}
