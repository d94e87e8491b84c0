package streams

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"lethe/blobs"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/memstore"
)

// What stands in a home for its streams may be of any bytes.
func FuzzFiles(f *testing.F) {
	home := f.TempDir()
	book := Book{Streams: &Streams{Store: memstore.New()}, Stream: "ledger", File: filepath.Join(home, "book")}
	for n := 1; n <= 3; n++ {
		lethetest.Must(f, book.Create(context.Background(), "ledger", n, Join(bookHead{Whole: 2}, []byte("text"))))
	}
	lethetest.FuzzReaders(f, home, lethetest.Reader{
		Name: "share.key", File: "share.key", Seeds: []string{"AGE-SECRET-KEY-1\n", "# created: now\nAGE-SECRET-KEY-PQ-1\n"},
		Read: func(testing.TB) error {
			_, err := seal.Load(home, nil, true)
			return err
		},
	}, lethetest.Reader{
		Name: "where a book was read to", File: "book",
		Seeds: []string{`{"n":2,"whole":2}`, `{"n":-1}`, `{"n":9223372036854775807,"whole":-1}`, `{"n":-9223372036854775808}`},
		Read: func(testing.TB) error {
			return book.Pull(context.Background(), func([]byte, bool) error { return nil })
		},
	})
}

// Texts of a store that is not sealed may be of any bytes: each is read, or is damage.
func FuzzTexts(f *testing.F) {
	whole := Join(pack{From: 1, To: 2}, []byte("one"), []byte("two"))
	f.Add(whole)
	for _, head := range []any{
		pack{}, pack{From: 1, To: 9}, pack{From: -1, To: 0}, pack{From: 1 << 62, To: 1 << 62}, bookHead{Whole: -1}, bookHead{Whole: 1 << 62},
	} {
		f.Add(Join(head, []byte("one")))
	}
	f.Add([]byte("{}\n-1\n"))
	f.Add([]byte("{}\n9223372036854775807\nx"))
	book := filepath.Join(f.TempDir(), "book")
	f.Fuzz(func(t *testing.T, text []byte) {
		var p pack
		if parts, err := Split(text, &p); err == nil {
			var again pack
			split, err := Split(Join(p, parts...), &again)
			if err != nil || len(split) != len(parts) {
				t.Fatalf("%q is %d parts, and then %d, %v", text, len(parts), len(split), err)
			}
		}
		ctx := context.Background()
		s := &Streams{Store: memstore.New()}
		for _, stream := range []string{"rooms", packs("rooms", 0), packs("rooms", 1), "ledger", "large"} {
			_ = s.Create(ctx, stream, 1, text)
		}
		_ = s.Create(ctx, "rooms", 2, text)
		for _, from := range []At{{}, {N: 1}, {N: 1, Gen: 1}} {
			last := from.N
			_, _ = s.Scan(ctx, "rooms", from, func(n int, _ []byte) error {
				if n <= last {
					t.Fatalf("text %d comes behind %d", n, last)
				}
				last = n
				return nil
			})
		}
		_ = s.Pack(ctx, "rooms", 2, func([]byte) bool { return false })
		same := func(_ int, text []byte) ([][]byte, error) { return [][]byte{text}, nil }
		_, _ = s.Rewrite(ctx, "rooms", func([]byte) bool { return true }, same)
		_, _ = s.Large(ctx, "rooms", blobs.Sum(text))
		_ = os.Remove(book)
		_ = Book{Streams: s, Stream: "ledger", File: book}.Pull(ctx, func([]byte, bool) error { return nil })
	})
}

// What a store holds in place of a sealed text is damage.
func FuzzOpened(f *testing.F) {
	s := &Streams{Store: memstore.New()}
	var err error
	s.Keys, err = seal.Load(f.TempDir(), nil, true)
	lethetest.Must(f, err)
	sealed, err := s.Sealed("rooms", 1, []byte("one"))
	lethetest.Must(f, err)
	f.Add(sealed, 0, []byte{})
	f.Add(sealed, len(sealed)-1, []byte("x"))
	f.Add([]byte("age-encryption.org/v1\n-> X25519 x\n--- x\n"), 0, []byte{})
	f.Add([]byte("lethe rooms 1\none"), 0, []byte{})
	f.Fuzz(func(t *testing.T, data []byte, at int, with []byte) {
		at = max(0, min(at, len(data)))
		data = bytes.Join([][]byte{data[:at], with, data[min(at+len(with), len(data)):]}, nil)
		text, err := s.Keys.Open(data)
		if err == nil && !bytes.Equal(data, sealed) {
			t.Fatalf("%q is opened as %q", data, text)
		}
	})
}
