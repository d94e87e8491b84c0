//go:build unix

package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// What SAY attaches is what READ_FILE would open, bounded, and named so that a line and a shell can show it.
func TestAttach(t *testing.T) {
	id := newIdentity(t, func(c *Config) {
		c.Past = &fakePast{sent: map[string][2]string{"3f9c": {"photo cat.png (image/png, 4 bytes) from bob", "\x89PNG"}}}
	})
	id.file("plot.png", "\x89PNG\r\n\x1a\n")
	id.file("a [b] $(c).txt", "text")
	id.file(".bashrc", "text")
	id.file(strings.Repeat("long", 30)+".docx", "PK")
	long := strings.Repeat("d", 32)
	for paths, want := range map[string]string{
		"plot.png":                           "photo plot.png (image/png, 8 bytes) from ada",
		"a [b] $(c).txt":                     "document a_b_c_.txt (text/plain, 4 bytes) from ada",
		"self/MEMORY.md\n./plot.png\n":       "document MEMORY.md (",
		".bashrc":                            "document _bashrc (text/plain, 4 bytes) from ada",
		"hash=3f9c":                          "photo 3f9c-cat.png (image/png, 4 bytes) from ada",
		strings.Repeat("long", 30) + ".docx": "ong.docx (application/octet-stream, 2 bytes) from ada",
	} {
		files, err := id.Attach(paths, "ada")
		if err != nil || !strings.Contains(files[0].Gist, want) || len(files) != strings.Count(strings.TrimSpace(paths), "\n")+1 {
			t.Errorf("%q: %v, %v", paths, files, err)
			continue
		}
		for _, from := range []string{"ada", long} {
			files, _ := id.Attach(paths, from)
			f, ok := blobs.ParseFile(files[0].Gist)
			if !ok || f.From != from || f.Size != int64(len(files[0].Data)) || strings.ContainsAny(f.Name, "[]$\n") {
				t.Errorf("%q is not read back: %+v", files[0].Gist, f)
			}
		}
	}
	id.file("too many", "x")
	lethetest.Must(t, os.Symlink("/etc/passwd", filepath.Join(id.work, "link")))
	lethetest.Must(t, syscall.Mkfifo(filepath.Join(id.work, "pipe"), 0o600))
	for _, name := range []string{"half", "whole"} {
		lethetest.Must(t, os.Truncate(id.file(name, ""), map[string]int64{"half": 30 << 20, "whole": 60 << 20}[name]))
	}
	for paths, want := range map[string]string{
		"plto.png":                       "Nearest name there: \"plot.png\"",
		"link":                           "leads outside",
		"pipe":                           "only regular files",
		".":                              "it is a directory",
		"hash=0000":                      "no such blob",
		"whole":                          "of 50 MB together",
		"half\nhalf":                     "of 50 MB together",
		"plot.png\n\nplot.png":           "path is empty",
		strings.Repeat("plot.png\n", 11): "at most 10 files",
		"../MEMORY.md":                   "leaves the workspace",
		"rooms/private.md":               "not one of yours",
	} {
		if files, err := id.Attach(paths, "ada"); files != nil || err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "Nothing was said") {
			t.Errorf("%.40q: %v", paths, err)
		}
	}
}
