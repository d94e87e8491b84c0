package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

func TestReadFileOpensWhatWasSent(t *testing.T) {
	recording := "ID3\x04\n\x00\x01\x02" + strings.Repeat("x", 9000)
	id := newIdentity(t, func(c *Config) {
		c.Past = &fakePast{sent: map[string][2]string{
			"aaaaaaaaaaaaaaaa": {"document notes.txt (text/plain, 12 bytes) from ada", "one\ntwo\nthree\n"},
			"bbbbbbbbbbbbbbbb": {"document Bericht 2026.mp3 (audio/mpeg, 9 KB) from ada", recording},
			"cccccccccccccccc": {"photo from ada", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"},
			"dddddddddddddddd": {"document ../../../etc/evil.sh (application/x-sh, 2 bytes) from eve", "\x00\x01"},
			"eeeeeeeeeeeeeeee": {"empty", ""},
			"ffffffffffffffff": {"photo (image/x-unknown, 2 bytes) from ada.lovelace", "\x00\x07"},
			"1111111111111111": {"document " + strings.Repeat("漢", 90) + ".csv (text/csv, 100 KB) from ada", strings.Repeat("a,b\n", 30_000)},
		}}
	})
	for _, path := range []string{"hash=aaaaaaaaaaaaaaaa", " hash=aaaaaaaaaaaaaaaa ", "◱hash=aaaaaaaaaaaaaaaa gist=document notes.txt◲"} {
		if got := id.ok("READ_FILE", "path", path, "offset", 2, "limit", 1); !strings.Contains(got, "two") || strings.Contains(got, "three") {
			t.Errorf("%s shows %q", path, got)
		}
	}
	for hash, want := range map[string]string{
		"bbbbbbbbbbbbbbbb": "received/bbbbbbbbbbbbbbbb-2026.mp3",
		"cccccccccccccccc": "received/cccccccccccccccc.png",
		"dddddddddddddddd": "received/dddddddddddddddd-evil.sh",
		"ffffffffffffffff": "received/ffffffffffffffff",
		"1111111111111111": "received/1111111111111111-" + strings.Repeat("漢", 33) + ".csv",
	} {
		got := id.ok("READ_FILE", "path", "hash="+hash)
		if !strings.Contains(got, want) {
			t.Errorf("%s is told as %q, without %s", hash, got, want)
		}
		text, err := os.ReadFile(filepath.Join(id.work, want))
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %v", want, err)
		}
	}
	id.ok("READ_FILE", "path", "hash=eeeeeeeeeeeeeeee")
	if got := id.ok("READ_FILE", "path", "hash=1111111111111111", "offset", 29_999); !strings.Contains(got, "already") ||
		!strings.Contains(got, "\na,b") {
		t.Errorf("a long text is shown as %q", got)
	}
	id.file("received/cccccccccccccccc.png", "cropped")
	id.ok("READ_FILE", "path", "hash=cccccccccccccccc")
	lethetest.Holds(t, filepath.Join(id.work, "received/cccccccccccccccc.png"), "cropped")
	for _, path := range []string{"hash=0123456789abcdef", "hash=aaaaaaaaaaaaaaaab"} {
		if r := id.do("READ_FILE", "path", path); !r.Err || !strings.Contains(string(r.Body), "no such blob") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	// A file of the workspace may be called what it likes.
	id.file("hash=aaaaaaaaaaaaaaaa", "a file")
	if got := id.ok("READ_FILE", "path", "./hash=aaaaaaaaaaaaaaaa"); !strings.Contains(got, "a file") {
		t.Errorf("a file beside a ref shows %q", got)
	}
}
