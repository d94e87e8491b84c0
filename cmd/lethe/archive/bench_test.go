package archive

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
)

// BenchmarkArchive carries a life of 20,000 texts of some 4 KB. Beside it: tar and zstd on the same files.
func BenchmarkArchive(b *testing.B) {
	w := newWorld(b)
	id, err := home.Boot(w.home, w.store, home.BootOptions{Name: "ada"})
	lethetest.Must(b, err)
	random := rand.NewChaCha8([32]byte{})
	w.held(id, func(held *journal.Journal) {
		for range 200 {
			var records []journal.Record
			for k := range 100 {
				noise := make([]byte, 700)
				_, _ = random.Read(noise)
				text := fmt.Appendf(nil, "%s\n%s", hex.EncodeToString(noise), bytes.Repeat([]byte("what was said, and what came of it; "), 70))
				records = append(records, journal.Record{Event: event.Note{N: held.State.Next + k, Why: "lost"},
					Texts: []journal.Text{{Gist: "note", Data: text}}})
			}
			lethetest.Must(b, held.Epoch("agent", func(s *mind.State) error { s.Live = nil; return nil }, records...))
		}
	})
	var archive []byte
	sum, err := Write(new(bytes.Buffer), w.home, w.store, id, WriteOptions{Copy: true})
	lethetest.Must(b, err)
	b.Run("export", func(b *testing.B) {
		b.SetBytes(sum.Bytes)
		for b.Loop() {
			archive = w.export(id, WriteOptions{Copy: true})
		}
	})
	b.Run("import", func(b *testing.B) {
		b.SetBytes(sum.Bytes)
		for b.Loop() {
			_, err := newWorld(b).read(archive, ReadOptions{})
			lethetest.Must(b, err)
		}
	})
	b.Run("tar and zstd", func(b *testing.B) {
		if _, err := exec.LookPath("zstd"); err != nil {
			b.Skip(err)
		}
		b.SetBytes(sum.Bytes)
		for b.Loop() {
			lethetest.Must(b, exec.Command("sh", "-c", "tar -C "+w.home.Dir+" -cf - blobs agents | zstd -q > "+
				filepath.Join(b.TempDir(), "x")).Run())
		}
	})
	b.Run("unpack", func(b *testing.B) {
		if _, err := exec.LookPath("zstd"); err != nil {
			b.Skip(err)
		}
		b.SetBytes(sum.Bytes)
		file := filepath.Join(b.TempDir(), "x")
		lethetest.Must(b, os.WriteFile(file, archive, 0o600))
		for b.Loop() {
			lethetest.Must(b, exec.Command("sh", "-c", "zstd -dqc "+file+" | tar -C "+b.TempDir()+" -xf -").Run())
		}
	})
}
