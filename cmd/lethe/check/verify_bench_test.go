package check_test

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
)

// BenchmarkVerify is of a LIFE of 200 MB, sealed every 200 lines, beside a bare read and SHA-256 of the same bytes.
func BenchmarkVerify(b *testing.B) {
	dir, now := b.TempDir(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	store, err := blobs.Open(filepath.Join(dir, "blobs"))
	lethetest.Must(b, err)
	self, err := store.Put(blobs.Meta{At: now, Gist: "boot of ada"}, []byte("soul"))
	lethetest.Must(b, err)
	key, err := life.LoadKey(dir)
	lethetest.Must(b, err)
	id := home.Identity{Self: self.String(), Name: "ada", Dir: dir}
	log, err := life.Create(id.LIFE())
	lethetest.Must(b, err)
	chunk := []life.Event{event.Line(now, event.Boot{Name: "ada", Version: "1"}, blobs.Ref{Hash: store.Short(self), Gist: "boot of ada"})}
	for log.Size() < 200e6 {
		for len(chunk) < 200 {
			chunk = append(chunk, event.Line(now, event.Error{ID: "k1", What: "model", Failure: "transient",
				Text: strings.Repeat("it is away ", 25)}))
		}
		_, err := log.AppendSealed(func(size int64, root tlog.Hash) (life.Event, error) {
			c := key.Sign(id.Self, size, root, id.Self)
			return event.Line(now, event.Sealed{Size: size, Root: life.Base64(root[:]), Last: id.Self, Key: key.Public(),
				Sig: life.Base64(c.Sig)}), nil
		}, chunk...)
		lethetest.Must(b, err)
		chunk = nil
	}
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			v, err := check.Verify(id, store, check.VerifyOptions{})
			lethetest.Must(b, err)
			lethetest.Must(b, v.Fault)
		}
		b.SetBytes(log.Size())
	})
	b.Run("sha256", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(id.LIFE())
			lethetest.Must(b, err)
			_, err = io.Copy(sha256.New(), f)
			lethetest.Must(b, err)
			f.Close()
		}
		b.SetBytes(log.Size())
	})
}
