package lookup

import (
	"context"
	"maps"
	"slices"
	"strings"

	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/compactor/recall"
	"lethe/compactor/recall/text"
	"lethe/mind"
)

// MarkChanged adds to the marks of hits the files of the workspace that they show and that read otherwise by now.
func MarkChanged(ctx context.Context, set *tools.Set, store *blobs.Store, hits []recall.Hit) {
	for i := range hits {
		if original, err := store.Get(hits[i].Hash); err == nil {
			hits[i].Mark += changed(ctx, set, string(original.Body))
		}
	}
}

// changed is like ", plan/paint.md changed since". Of each file the last reading or writing counts, if the identity has not
// edited the file behind it.
func changed(ctx context.Context, set *tools.Set, body string) string {
	call, marks := mind.Call{}, map[string]string{}
	for section := range text.Sections(body) {
		if section.Kind == "call" {
			call.Args = section.Text(body)
			continue
		}
		path := call.Arg("path")
		switch section.Tool {
		case "EDIT_FILE":
			delete(marks, path)
		case "READ_FILE", "WRITE_FILE":
			if !strings.Contains(section.Header(body), " result "+mind.OK) {
				continue
			}
			marks[path] = ""
			if !set.StillReads(ctx, blobs.Unescape(call.Args), section.Text(body)) {
				marks[path] = ", " + blobs.Gist(path) + " changed since"
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Values(marks)), "")
}
