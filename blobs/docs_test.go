package blobs_test

import (
	"regexp"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

func TestPageExamples(t *testing.T) {
	doc := lethetest.Page(t, "blobs.md")
	files := lethetest.Blocks(t, "blobs.md", "blob")
	addresses := strings.Fields(lethetest.Blocks(t, "blobs.md", "address")[0])
	if len(files) != 3 || len(addresses) != 3 {
		t.Fatalf("%d blobs and %d addresses, want 3", len(files), len(addresses))
	}
	var metas []blobs.Meta
	for i, file := range files {
		h, err := blobs.ParseHash(addresses[i])
		if err != nil || blobs.Sum([]byte(file)) != h {
			t.Errorf("blob %d has the address %s, the page says %s", i, blobs.Sum([]byte(file)), addresses[i])
		}
		b, err := blobs.Decode([]byte(file))
		if err != nil || string(blobs.Encode(b.Meta, b.Body)) != file {
			t.Errorf("blob %d is not how this package writes it: %v", i, err)
		}
		if where := "`blobs/" + addresses[i][:3] + "/" + addresses[i][3:16] + "…`"; !strings.Contains(doc, where) {
			t.Errorf("the page does not say %s", where)
		}
		metas = append(metas, b.Meta)
	}
	boot, next := metas[0], metas[1]
	if boot.Life != "" || !boot.Parent.IsZero() || next.Life != addresses[0] || next.Parent.IsZero() || next.Parent.String() == addresses[0] {
		t.Errorf("the example is no chain: %+v, %+v", boot, next)
	}
	if metas[2].Summary == "" || metas[2].Parent.String() != addresses[1] {
		t.Errorf("the original of the page is %+v", metas[2])
	}
	ref := strings.TrimSpace(lethetest.Blocks(t, "blobs.md", "ref")[0])
	refs := blobs.ParseRefs(ref)
	if len(refs) != 1 || refs[0] != (blobs.Ref{addresses[1][:16], next.Gist}) || refs[0].String() != ref {
		t.Errorf("the page's ref %q is read as %v", ref, refs)
	}
	rows := regexp.MustCompile("(?m)^\\| `(.)` \\| U\\+[0-9A-F]{4} \\| `(..)` \\|$").FindAllStringSubmatch(doc, -1)
	if len(rows) != 5 {
		t.Fatalf("%d rows of escapes, want 5", len(rows))
	}
	for _, row := range rows {
		if got := blobs.Escape(row[1]); got != row[2] {
			t.Errorf("the page escapes %s as %s, this package as %s", row[1], row[2], got)
		}
	}
}
