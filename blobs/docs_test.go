package blobs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the fenced blocks of docs/blobs.md with this language.
func blocks(t *testing.T, doc, lang string) []string {
	t.Helper()
	var out []string
	for rest := doc; ; {
		_, after, ok := strings.Cut(rest, "\n```"+lang+"\n")
		if !ok {
			break
		}
		block, tail, closed := strings.Cut(after, "```\n")
		if !closed {
			t.Fatalf("block %q does not end", lang)
		}
		out, rest = append(out, block), tail
	}
	if len(out) == 0 {
		t.Fatalf("docs/blobs.md has no block %q", lang)
	}
	return out
}

func TestPageExamples(t *testing.T) {
	data, err := os.ReadFile("../docs/blobs.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	files := blocks(t, doc, "blob")
	addresses := strings.Fields(blocks(t, doc, "address")[0])
	if len(files) != 2 || len(addresses) != 2 {
		t.Fatalf("%d blobs and %d addresses, want 2", len(files), len(addresses))
	}
	var metas []Meta
	for i, file := range files {
		h, err := ParseHash(addresses[i])
		if err != nil || Sum([]byte(file)) != h {
			t.Errorf("blob %d has the address %s, the page says %s", i, Sum([]byte(file)), addresses[i])
		}
		m, body, err := Decode([]byte(file))
		if err != nil || string(Encode(m, body)) != file {
			t.Errorf("blob %d is not how this package writes it: %v", i, err)
		}
		if where := "`blobs/" + addresses[i][:3] + "/" + addresses[i][3:16] + "…`"; !strings.Contains(doc, where) {
			t.Errorf("the page does not say %s", where)
		}
		metas = append(metas, m)
	}
	boot, next := metas[0], metas[1]
	if boot.Life != "" || !boot.Parent.IsZero() || next.Life != addresses[0] || next.Parent.IsZero() || next.Parent.String() == addresses[0] {
		t.Errorf("the example is no chain: %+v, %+v", boot, next)
	}
	ref := strings.TrimSpace(blocks(t, doc, "ref")[0])
	refs := ParseRefs(ref)
	if len(refs) != 1 || refs[0] != (Ref{addresses[1][:16], next.Gist}) || refs[0].String() != ref {
		t.Errorf("the page's ref %q is read as %v", ref, refs)
	}
	rows := regexp.MustCompile("(?m)^\\| `(.)` \\| U\\+[0-9A-F]{4} \\| `(..)` \\|$").FindAllStringSubmatch(doc, -1)
	if len(rows) != 5 {
		t.Fatalf("%d rows of escapes, want 5", len(rows))
	}
	for _, row := range rows {
		if got := Escape(row[1]); got != row[2] {
			t.Errorf("the page escapes %s as %s, this package as %s", row[1], row[2], got)
		}
	}
}
