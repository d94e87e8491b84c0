//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/chat"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
)

// stored returns the store of a home with two lives, whose host was drained, and the key.
func stored(t *testing.T) (store, key string) {
	t.Helper()
	dir := lethetest.Dir(t)
	store = filepath.Join(dir, "store")
	home := filepath.Join(dir, "home")
	lethetest.Must(t, os.Mkdir(store, 0o700))
	url := "file://" + store
	key = seal.File(home)
	lethetest.Write(t, filepath.Join(home, "config.toml"), fmt.Sprintf("[share]\nurl = %q\n", url))
	for _, name := range []string{"ada", "bob"} {
		out, err := bare(t, home, nil, "ask", "--offline", "--name", name, "--room", name, "--new",
			"remember that the deploy key is in vault 7").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	opened, err := share.Open(url, 0)
	lethetest.Must(t, err)
	defer opened.Close()
	keys, err := seal.Load(home, nil, true)
	lethetest.Must(t, err)
	hosts, _ := filepath.Glob(filepath.Join(home, "share", "host-*"))
	left := &streams.Streams{Store: opened, Keys: keys}
	stream := "hosts/" + lethetest.Read(t, hosts[0])
	newest, err := left.Newest(t.Context(), stream, 0)
	lethetest.Must(t, err)
	lethetest.Must(t, left.Create(t.Context(), stream, newest+1, []byte(`{"label": "old", "left": true}`)))
	return store, key
}

// A restore that is killed, or whose disk fails, is no home that anybody opens. Run again, it brings all.
func TestRestoreCutShort(t *testing.T) {
	t.Parallel()
	for _, isPast := range []bool{true, false} {
		store, key := stored(t)
		at := ""
		if isPast {
			time.Sleep(time.Second) // which is the unit of the flag
			at = time.Now().Format("2006-01-02T15:04:05")
		}
		restore := func(home, moment, trace string) (string, error) {
			copied := filepath.Join(filepath.Dir(home), "store") // where the lives are still at the old host
			if _, err := os.Stat(copied); err != nil {
				lethetest.Must(t, os.CopyFS(copied, os.DirFS(store)))
			}
			args := []string{"restore", "file://" + copied, "--key", key}
			if at != "" {
				args = append(args, "--at", at)
			}
			out, err := bare(t, home, []string{killAt + "=" + moment, traceTo + "=" + trace}, args...).CombinedOutput()
			return string(out), err
		}
		trace := filepath.Join(lethetest.Dir(t), "trace")
		if out, err := restore(filepath.Join(lethetest.Dir(t), "home"), "", trace); err != nil {
			t.Fatalf("%v: %s", err, out)
		} else if at != "" {
			lethetest.Words(t, out, "as it was at", time.Now().Format("(-07:00)"))
		}
		writes := strings.Count(lethetest.Read(t, trace), "\n")
		every := lethetest.Sample(61, 31, 1)
		for n := 1 + lethetest.Day()%every; n <= writes; n += every {
			for _, how := range []string{"before", "after", "fails"} {
				moment := fmt.Sprintf("%s:%d", how, n)
				home := filepath.Join(lethetest.Dir(t), "home")
				_, err := restore(home, moment, "")
				if how == "after" && n == writes {
					err = nil // it was whole
				}
				out, opens := bare(t, home, nil, "agents").CombinedOutput()
				if err != nil && opens == nil && strings.Contains(string(out), "ada") {
					t.Errorf("%s of %d %s: half a home is opened: %s", moment, writes, at, out)
				}
				if err != nil {
					if out, err := restore(home, "", ""); err != nil {
						t.Errorf("%s of %d %s: it does not go on: %s", moment, writes, at, out)
						continue
					}
				}
				out, err = bare(t, home, nil, "check").CombinedOutput()
				if err != nil || strings.Count(string(out), "ada")+strings.Count(string(out), "bob") < 2 {
					t.Errorf("%s of %d %s: %v, %s", moment, writes, at, err, out)
				}
				if said := lethetest.Read(t, chat.Path(home, "ada")); !strings.Contains(said, "vault 7") {
					t.Errorf("%s: the room is %q", moment, said)
				}
			}
		}
	}
}
