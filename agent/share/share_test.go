package share_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/internal/durable"
	"lethe/internal/test/crashdisk"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

func TestMain(m *testing.M) {
	sharetest.Keys()
	sharetest.Main(m)
}

// span is how long a race runs.
func span() time.Duration {
	return time.Duration(lethetest.Sample(1, 1, 60)) * time.Second
}

func directory(t *testing.T) (url, path string) {
	path = filepath.Join(lethetest.Dir(t), "share")
	lethetest.Must(t, os.Mkdir(path, 0o700))
	return "file://" + path, path
}

// each runs parts of a test beside each other.
func each(t *testing.T, parts map[string]func(t *testing.T)) {
	for name, run := range parts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	url, path := directory(t)
	sharetest.Contract(t, url)
	each(t, map[string]func(t *testing.T){
		"away": func(t *testing.T) {
			url, path := directory(t)
			aside := path + "2"
			sharetest.Away(t, url,
				func() { lethetest.Must(t, os.Rename(path, aside)) }, func() { lethetest.Must(t, os.Rename(aside, path)) })
		},
		"not mounted": func(t *testing.T) {
			url, path := directory(t)
			s, err := share.Open(url, 50*time.Millisecond)
			lethetest.Must(t, err)
			lethetest.Must(t, s.Create(t.Context(), "life", 1, []byte("one")))
			lethetest.Must(t, os.Rename(path, path+"2"))
			lethetest.Must(t, os.Mkdir(path, 0o700))
			if err := s.Create(t.Context(), "life", 2, []byte("two")); !errors.Is(err, share.ErrAway) {
				t.Errorf("an empty directory in its place takes the next text: %v", err)
			}
			s = sharetest.Open(t, url, 50*time.Millisecond) // as in another process
			err = s.Create(t.Context(), "life", 2, []byte("two"))
			left, _ := os.ReadDir(path)
			if !errors.Is(err, share.ErrAway) || len(left) > 0 {
				t.Errorf("a new process writes %v: %v", left, err)
			}
		},
		"race": func(t *testing.T) {
			r := sharetest.Race{URL: url, Direct: url, Stream: "race", Goroutines: 4, Processes: 4, Torment: true, For: span()}
			r.Run(t)
		},
		"holders": func(t *testing.T) {
			h := sharetest.Holders{URL: url, Direct: url, Stream: "life", Hosts: 4, For: span()}
			h.Run(t)
		},
		"damaged": func(t *testing.T) { damaged(t, url, path) },
		"strays":  func(t *testing.T) { strays(t, url, path) },
		"probe": func(t *testing.T) {
			found(t, url, []string{share.OK}, "a text is written once")
			found(t, url, []string{share.OK})
			found(t, url+"/missing", []string{share.Trouble}, "mount the directory, or make it with mkdir")
		},
	})
}

// Steps of the disk fail, before or after they have happened; it runs before what is parallel, for it is the whole
// process whose disk is bad.
func TestDirectoryFaults(t *testing.T) {
	url, _ := directory(t)
	durable.Fault = func(stage durable.Stage, op, path string) error {
		if rand.IntN(20) == 0 {
			return errors.New("injected at " + string(stage) + " " + op)
		}
		return nil
	}
	defer func() { durable.Fault = nil }()
	(&sharetest.Race{URL: url, Direct: url, Stream: "race", Goroutines: 4, For: span()}).Run(t)
}

func TestBucket(t *testing.T) {
	t.Parallel()
	b := sharetest.Bucket(t)
	sharetest.Contract(t, b.URL("contract"))
	each(t, map[string]func(t *testing.T){
		"away": func(t *testing.T) {
			var f sharetest.Faults
			url := b.URL("away", f.HTTP(t, b.Address))
			sharetest.Away(t, url, func() { f.Away.Store(true) }, func() { f.Away.Store(false) })
		},
		"race": func(t *testing.T) {
			f := sharetest.Each(10, 20)
			r := sharetest.Race{URL: b.URL("race", f.HTTP(t, b.Address)), Direct: b.URL("race"), Stream: "race",
				Goroutines: 4, Processes: 2, Torment: true, For: span(), Least: 40}
			r.Run(t)
			f.Tell(t)
		},
		"holders": func(t *testing.T) {
			f := sharetest.Each(10, 20)
			h := sharetest.Holders{URL: b.URL("life", f.HTTP(t, b.Address)), Direct: b.URL("life"), Stream: "life", Hosts: 4,
				For: span()}
			h.Run(t)
		},
		"damaged": func(t *testing.T) { damaged(t, b.URL("damaged"), filepath.Join(b.Dir, "damaged")) },
		"strays":  func(t *testing.T) { strays(t, b.URL("strays"), filepath.Join(b.Dir, "strays")) },
		"cancelled": func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if n, err := sharetest.Open(t, b.URL("cancelled"), 0).Newest(ctx, "race", 0); err == nil {
				t.Errorf("the newest is %d, as far as nobody waited for", n)
			}
		},
		"probe": func(t *testing.T) {
			found(t, b.URL("probe"), []string{share.OK}, "a text is written once")
			careless := sharetest.Faults{Before: func(r *http.Request) { // as a bucket that does not heed If-None-Match
				if r.Method == http.MethodPut {
					_ = os.Remove(filepath.Join(filepath.Dir(b.Dir), filepath.FromSlash(r.URL.Path)))
				}
			}}
			url := b.URL("probe", careless.HTTP(t, b.Address))
			found(t, url, []string{share.Trouble}, "the store writes over what is there")
			asked := 0
			counted := sharetest.Faults{Before: func(*http.Request) { asked++ }}
			counts := b.URL("probe", counted.HTTP(t, b.Address))
			for n := 1; n <= 3; n++ { // a process each
				lethetest.Must(t, sharetest.Open(t, counts, 0).Create(t.Context(), "lives/a", n, []byte("one")))
			}
			if asked > 2+3+4+4 {
				t.Errorf("three processes ask %d times", asked)
			}
			for stream, n := range map[string]int{"lives/a": 4, "lives/b": 1} {
				unfit(t, url, stream, n, "the store writes over what is there")
			}
		},
	})
}

// A power loss at any moment takes nothing that was created, and leaves no part of a text.
func TestDirectoryPowerLoss(t *testing.T) {
	url, path := directory(t)
	type moment struct{ ops, made, forgotten int }
	var ops []durable.Op
	var done []moment
	durable.Trace = func(op durable.Op) {
		if op, ok := crashdisk.In(path, op); ok {
			ops = append(ops, op)
		}
	}
	defer func() { durable.Trace = nil }()
	s := sharetest.Open(t, url, 0)
	text := func(n int) []byte { return bytes.Repeat([]byte{byte(n)}, 100*n) }
	for n := 1; n <= 12; n++ {
		lethetest.Must(t, s.Create(t.Context(), "lives/a", n, text(n)))
		done = append(done, moment{len(ops), n, 0})
	}
	lethetest.Must(t, s.Delete(t.Context(), "lives/a", 9, func(n int) bool { return n == 4 }))
	durable.Trace = nil
	done = append(done, moment{len(ops), 12, 9})
	random := rand.New(rand.NewPCG(1, 2))
	states := 0
	for n := range len(ops) + 1 {
		disk := crashdisk.New()
		for _, op := range ops[:n] {
			disk.Do(op)
		}
		now := moment{}
		for _, m := range done {
			if m.ops <= n {
				now = m
			}
		}
		for _, keep := range []float64{0, 0.5, 1} {
			after, left := directory(t)
			lethetest.Must(t, disk.PowerLoss(keep, random).Write(left))
			holdsAfter(t, sharetest.Open(t, after, 0), now.made, now.forgotten, text)
			states++
		}
	}
	lethetest.Tried(t, states)
}

func holdsAfter(t *testing.T, s share.Store, made, forgotten int, text func(n int) []byte) {
	t.Helper()
	newest, err := s.Newest(t.Context(), "lives/a", 0)
	if err != nil || newest < made || newest > made+1 {
		t.Errorf("the newest of %d is %d, %v", made, newest, err)
	}
	for n := 1; n <= newest; n++ {
		got, err := s.Get(t.Context(), "lives/a", n)
		gone := errors.Is(err, share.ErrMissing)
		if made == 12 && n <= 9 && n != 4 { // it may be deleted already, and has to be when Delete has returned
			if err != nil && !gone || forgotten > 0 && !gone {
				t.Errorf("text %d, deleted up to %d: %v", n, forgotten, err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, text(n)) {
			t.Errorf("text %d of %d: %v", n, made, err)
		}
	}
}

// What does not belong there is passed over, and what a writer that died has left goes with the next Delete.
func strays(t *testing.T, url, dir string) {
	s := sharetest.Open(t, url, 0)
	for n := 1; n <= 3; n++ {
		lethetest.Must(t, s.Create(t.Context(), "strays/x", n, []byte("text")))
	}
	left := filepath.Join(dir, "strays=x", "999999", ".tmp-123")
	lethetest.Write(t, left, "stray")
	for _, path := range []string{
		"strays=x/999999/7", "strays=x/99999a/001", "strays=x/.DS_Store", "strays", "Strays=x/a",
	} {
		lethetest.Write(t, filepath.Join(dir, path), "stray")
	}
	sharetest.Newest(t, s, "strays/x", 3)
	all, err := s.List(t.Context(), "strays")
	if err != nil || !slices.Equal(all, []string{"strays/x"}) {
		t.Errorf("streams: %q, %v", all, err)
	}
	lethetest.Must(t, s.Delete(t.Context(), "strays/x", 2, func(n int) bool { return n == 1 }))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a temporary file is left: %v", err)
	}
	for n, want := range []error{nil, share.ErrMissing, nil} {
		if _, err := s.Get(t.Context(), "strays/x", n+1); !errors.Is(err, want) {
			t.Errorf("text %d: %v, want %v", n+1, err, want)
		}
	}
}

// A text that was cut off is told apart from one that is not there, and from one that is whole.
func damaged(t *testing.T, url, dir string) {
	s := sharetest.Open(t, url, 0)
	for n, left := range []int64{0, 5, 11, 12, 20} {
		lethetest.Must(t, s.Create(t.Context(), "damaged", n+1, []byte("text of 16 bytes")))
		path := filepath.Join(dir, "damaged", "999999", fmt.Sprint(998-n))
		lethetest.Must(t, os.Chmod(path, 0o600))
		lethetest.Must(t, os.Truncate(path, left))
		if got, err := s.Get(t.Context(), "damaged", n+1); !errors.Is(err, share.ErrDamaged) {
			t.Errorf("a text cut to %d bytes: %q, %v", left, got, err)
		}
		if err := s.Create(t.Context(), "damaged", n+1, []byte("text of 16 bytes")); !errors.Is(err, share.ErrTaken) {
			t.Errorf("create over a text cut to %d bytes: %v", left, err)
		}
	}
}

// unfit fails the test unless the first Create of a process is refused, and writes nothing.
func unfit(t *testing.T, url, stream string, n int, words string) {
	t.Helper()
	s := sharetest.Open(t, url, 0)
	err := s.Create(t.Context(), stream, n, []byte("text"))
	if !errors.As(err, new(share.ErrUnfit)) {
		t.Fatalf("%s is taken: %v", url, err)
	}
	lethetest.Words(t, err.Error(), words)
	sharetest.Newest(t, s, stream, n-1)
}

// found fails the test unless Probe has so many findings of each state, with such words.
func found(t *testing.T, url string, states []string, words ...string) {
	t.Helper()
	var got []string
	all := ""
	for _, f := range share.Probe(t.Context(), url) {
		got, all = append(got, f.State), all+f.State+": "+f.Text+"\n"
	}
	slices.Sort(got)
	if !slices.Equal(got, states) {
		t.Errorf("findings %q, want %q:\n%s", got, states, all)
	}
	lethetest.Words(t, all, words...)
}

func TestOpen(t *testing.T) {
	for url, words := range map[string]string{
		"":                                "write file:///path, s3://endpoint/bucket/prefix or nats://host:4222/home",
		"http://host/x":                   "open http share: write file:///path",
		"file://host/x":                   "write file:///path",
		"s3://host":                       "Bucket name cannot be empty",
		"s3://id:a-secret-0@host/bucket":  "keys belong into the environment, not into the URL",
		"nats://me:a-secret-0@host/home":  "keys belong into the environment, not into the URL",
		"nats://host/Home":                "the name of the home has a-z, 0-9, _ and - only",
		"s3://host/bucket?region=%zz":     "invalid URL escape",
		"s3://host/bucket with a space/x": "invalid characters",
	} {
		_, err := share.Open(url, 0)
		if err == nil {
			t.Errorf("%s is opened", url)
			continue
		}
		lethetest.Words(t, err.Error(), words)
		if strings.Contains(err.Error(), "a-secret-0") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", url, err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("HOME", t.TempDir())
	_, err := share.Open("s3://host/bucket", 0)
	if err == nil {
		t.Fatal("a bucket is opened without keys")
	}
	lethetest.Words(t, err.Error(), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	t.Setenv("NATS_CREDS", "/not/there.creds")
	if _, err = share.Open("nats://127.0.0.1:1", 0); err == nil {
		t.Error("keys that are not there are taken")
	}
}
