package blobs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
)

var at = time.Date(2026, 11, 20, 12, 57, 16, 123456789, time.UTC)

func open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "blobs"))
	lethetest.Must(t, err)
	return s
}

func put(t testing.TB, s *Store, body string) Hash {
	t.Helper()
	h, err := s.Put(Meta{At: at, Gist: "a gist", Life: "51c0"}, []byte(body))
	lethetest.Must(t, err)
	return h
}

// plant makes a file where a blob named by the 64 digits would be.
func plant(t testing.TB, s *Store, digits, data string) Hash {
	t.Helper()
	h, err := ParseHash(digits)
	lethetest.Must(t, err)
	lethetest.Write(t, s.Path(h), data)
	return h
}

func TestRoundTrip(t *testing.T) {
	s := open(t)
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		m := Meta{
			At:   time.UnixMicro(rapid.Int64Range(-62135596800_000000, 253402300799_999999).Draw(t, "at")).UTC(),
			Gist: rapid.String().Draw(t, "gist"),
			Life: rapid.StringMatching(`|[0-9a-f]{64}`).Draw(t, "life"),

			Summary: rapid.String().Draw(t, "summary"),
		}
		if rapid.Bool().Draw(t, "child") {
			m.Parent = Sum(body)
		}
		h, err := s.Put(m, body)
		lethetest.Must(t, err)
		file, err := os.ReadFile(s.Path(h))
		lethetest.Must(t, err)
		if Sum(file) != h || !bytes.Equal(file, Encode(m, body)) {
			t.Fatalf("the file %q is not what its address %s says", file, h)
		}
		b, err := s.Get(h)
		lethetest.Must(t, err)
		m.Gist, m.Summary = Gist(m.Gist), oneLine(m.Summary)
		if b.Hash != h || b.Meta != m || !bytes.Equal(b.Body, body) {
			t.Fatalf("got %+v, want %+v and body %q", b, m, body)
		}
		if !s.Has(h) {
			t.Fatal("the store denies what it holds")
		}
		for _, n := range []int{16, 40, 64} {
			if r, err := s.Resolve(h.String()[:n]); err != nil || r != h {
				t.Fatalf("resolve %d digits: %s %v", n, r, err)
			}
		}
	})
}

func TestPutTwice(t *testing.T) {
	s := open(t)
	h := put(t, s, "body")
	before, err := os.Stat(s.Path(h))
	lethetest.Must(t, err)
	if fi, _ := os.Stat(filepath.Dir(s.Path(h))); fi.Mode().Perm() != 0o700 || before.Mode().Perm() != 0o400 {
		t.Errorf("modes %v and %v, want 0700 and 0400", fi.Mode(), before.Mode())
	}
	if again := put(t, s, "body"); again != h {
		t.Fatalf("addresses differ: %s, %s", h, again)
	}
	after, err := os.Stat(s.Path(h))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the second put wrote the file again, %v", err)
	}
}

func TestPutRepairsDamage(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"altered":     func(p string) error { return os.WriteFile(p, []byte("not a blob"), 0o600) },
		"zero-length": func(p string) error { return os.Truncate(p, 0) },
		"cut":         func(p string) error { return os.Truncate(p, 40) },
		"removed":     os.Remove,
	} {
		s := open(t)
		h := put(t, s, "body")
		lethetest.Must(t, os.Chmod(s.Path(h), 0o600))
		lethetest.Must(t, damage(s.Path(h)))
		if _, err := s.Get(h); err == nil {
			t.Errorf("%s: get answers", name)
		}
		put(t, s, "body")
		if b, err := s.Get(h); err != nil || string(b.Body) != "body" {
			t.Errorf("%s: after the second put: %q %v", name, b.Body, err)
		}
	}
}

func TestGetVerifies(t *testing.T) {
	s := open(t)
	h := put(t, s, "body")
	good, err := os.ReadFile(s.Path(h))
	lethetest.Must(t, err)
	lethetest.Must(t, os.Chmod(s.Path(h), 0o600))
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		lethetest.Must(t, os.WriteFile(s.Path(h), bad, 0o600))
		if b, err := s.Get(h); !errors.Is(err, ErrDigest) || b.Body != nil {
			t.Fatalf("byte %d altered: %q %v", i, b.Body, err)
		}
		lethetest.Must(t, os.WriteFile(s.Path(h), good[:i], 0o600))
		if _, err := s.Get(h); !errors.Is(err, ErrDigest) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	lethetest.Must(t, os.Remove(s.Path(h)))
	if _, err := s.Get(h); !errors.Is(err, ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
	want := "read blob " + h.String() + ": no such blob"
	if _, err := s.Get(h); err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// A file whose name is right and whose form is not is an error, too.
func TestGetOfStrangeForm(t *testing.T) {
	s := open(t)
	for _, data := range []string{"", "no frontmatter", "---\nat: x\n", "---\nat: yesterday\n---\n", "---\nparent: 12\n---\n"} {
		h := plant(t, s, Sum([]byte(data)).String(), data)
		if b, err := s.Get(h); err == nil || errors.Is(err, ErrDigest) {
			t.Errorf("%q: %+v %v", data, b, err)
		}
	}
	// Keys of later versions are passed over.
	data := "---\nat: 2026-11-20T12:57:16.123456Z\nmood: good\ngist: g\nempty:\n---\n---\nbody"
	b, err := s.Get(plant(t, s, Sum([]byte(data)).String(), data))
	if err != nil || b.Gist != "g" || string(b.Body) != "---\nbody" {
		t.Errorf("%+v %v", b, err)
	}
}

const digits = "3f9c0ffee00ddeadbeef00112233445566778899aabbccddeeff001122334455"

func TestResolve(t *testing.T) {
	s := open(t)
	one := plant(t, s, digits, "")
	two := plant(t, s, digits[:20]+"f"+digits[21:], "")
	far := plant(t, s, "3f9d"+digits[4:], "")
	for name, data := range map[string]string{".tmp-123": "x", "c": "x", strings.ToUpper(digits[3:]): "x"} {
		lethetest.Must(t, os.WriteFile(filepath.Join(s.dir, "3f9", name), []byte(data), 0o600))
	}
	for prefix, want := range map[string]Hash{digits: one, digits[:21]: one, two.String()[:21]: two, "3f9d": far} {
		if h, err := s.Resolve(prefix); err != nil || h != want {
			t.Errorf("resolve %s: %s %v", prefix, h, err)
		}
	}
	for prefix, want := range map[string][]Hash{digits[:20]: {one, two}, "3f9c": {one, two}, "3f9": {one, two, far}} {
		_, err := s.Resolve(prefix)
		if !errors.Is(err, ErrAmbiguous) || strings.Count(err.Error(), " ") != 5+len(want) {
			t.Errorf("resolve %s: %v, want it ambiguous", prefix, err)
			continue
		}
		for _, h := range want {
			if !strings.Contains(err.Error(), h.String()) {
				t.Errorf("%q does not list %s", err, h)
			}
		}
	}
	for _, prefix := range []string{"3f9e", "000", "fff0123456789abc", "f" + digits[1:]} {
		if _, err := s.Resolve(prefix); !errors.Is(err, ErrNotFound) {
			t.Errorf("resolve %s: %v, want not found", prefix, err)
		}
	}
	for _, prefix := range []string{"", "3f", "3F9C", "xyz", "3f9 ", "../", "3f9/c", digits + "0", strings.ToUpper(digits)} {
		if _, err := s.Resolve(prefix); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("resolve %q: %v, want a refusal", prefix, err)
		}
	}
}

func TestShort(t *testing.T) {
	s := open(t)
	one := plant(t, s, digits, "")
	if got := s.Short(one); got != digits[:16] {
		t.Errorf("alone: %s", got)
	}
	plant(t, s, digits[:20]+"f"+digits[21:], "")
	if got := s.Short(one); got != digits[:21] {
		t.Errorf("with a neighbour at digit 21: %s", got)
	}
	last := plant(t, s, digits[:63]+"f", "")
	for _, h := range []Hash{one, last} {
		if got := s.Short(h); got != h.String() {
			t.Errorf("with a neighbour at the last digit: %s", got)
		}
	}
	absent, err := ParseHash("000" + digits[3:])
	lethetest.Must(t, err)
	if got := s.Short(absent); got != absent.String()[:16] {
		t.Errorf("not in the store: %s", got)
	}
}

func TestParseHash(t *testing.T) {
	for _, bad := range []string{"", digits[:63], digits + "0", strings.ToUpper(digits), digits[:63] + "g", strings.Repeat("é", 32)} {
		if h, err := ParseHash(bad); err == nil {
			t.Errorf("%q was read as %s", bad, h)
		}
	}
	var h Hash
	if err := h.UnmarshalText([]byte(digits)); err != nil || h.String() != digits {
		t.Errorf("%s %v", h, err)
	}
	if text, err := h.MarshalText(); err != nil || string(text) != digits {
		t.Errorf("%s %v", text, err)
	}
	if err := h.UnmarshalText(nil); err != nil || !h.IsZero() {
		t.Errorf("%s %v", h, err)
	}
	if text, err := h.MarshalText(); err != nil || len(text) != 0 {
		t.Errorf("%s %v", text, err)
	}
}

func TestConcurrentPuts(t *testing.T) {
	s := open(t)
	other, err := Open(s.dir) // as another process would
	lethetest.Must(t, err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			store := []*Store{s, other}[g%2]
			for i := range 20 {
				h, err := store.Put(Meta{At: at}, fmt.Appendf(nil, "body %d", i))
				if err != nil {
					t.Error(err)
					return
				}
				if b, err := s.Get(h); err != nil || string(b.Body) != fmt.Sprintf("body %d", i) {
					t.Errorf("%q %v", b.Body, err)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	if err := s.Each(func(Hash) error { n++; return nil }); err != nil || n != 20 {
		t.Errorf("%d blobs, want 20, %v", n, err)
	}
}

// A tombstone is what a reader gets of a blob whose bytes are gone; at another address it is damage.
func TestBury(t *testing.T) {
	s := open(t)
	h, other := put(t, s, "the password is swordfish"), put(t, s, "what goes on")
	b, err := s.Get(h)
	lethetest.Must(t, err)
	for range 2 { // a crash can have it done again
		sum, err := s.Bury(Tombstone{Of: h, Why: Erased, At: at}, b.Meta, []byte("the password is [erased.]"))
		file, rerr := os.ReadFile(s.Path(h))
		lethetest.Must(t, errors.Join(err, rerr))
		if sum != Sum(file) {
			t.Errorf("%s is the sum of the tombstone, %s is said", Sum(file), sum)
		}
	}
	got, err := s.Get(h)
	if err != nil || got.Gone == nil || *got.Gone != (Tombstone{h, Erased, at.UTC().Truncate(time.Microsecond),
		got.Gone.Sum}) || got.Gone.Sum == h || string(got.Body) != "the password is [erased.]" || got.Meta != b.Meta {
		t.Errorf("%+v, %v", got, err)
	}
	file, err := os.ReadFile(s.Path(h))
	lethetest.Must(t, err)
	lethetest.Must(t, os.Chmod(s.Path(other), 0o600))
	lethetest.Must(t, os.WriteFile(s.Path(other), file, 0o600))
	if _, err := s.Get(other); !errors.Is(err, ErrDigest) {
		t.Errorf("a tombstone of another blob: %v", err)
	}
}
