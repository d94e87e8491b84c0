package home_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	homepkg "lethe/agent/home"
	"lethe/blobs"
	"lethe/internal/test/lethetest"
	"lethe/mind"
)

// What stands in a home may be of any bytes.
func FuzzFiles(f *testing.F) {
	home := homepkg.Home{Dir: f.TempDir()}
	self := strings.Repeat("ab", 32)
	id := homepkg.Identity{Self: self, Name: "ada", Dir: filepath.Join(home.Agents(), self)}
	own := "agents/" + self + "/"
	file := homepkg.ErasedFile{Path: own + "MEMORY.md", Cuts: [][2]int64{{3, 4}}}
	file.Sum = file.Mask([]byte("is 4711 or so"))
	plan := strings.TrimSpace(lethetest.Blocks(f, "erase.md", "plan")[0])
	lethetest.FuzzReaders(f, home.Dir, lethetest.Reader{
		Name: "task.toml", File: own + "task.toml",
		Seeds: []string{`parent = "` + self + `"` + "\nof = \"bob\"\nusd = nan\ntools = [\"BASH\"]\n", "parent = 1\n", "usd = -inf\n"},
		Read: func(testing.TB) error {
			_, err := id.Child()
			return err
		},
	}, lethetest.Reader{
		Name: "erase.json", File: own + "erase.json",
		Seeds: []string{
			plan, `{"files":[{"path":"` + file.Path + `","cuts":[[3,4]],"sum":"` + file.Sum + `"}]}`,
			`{"files":[{"path":"` + file.Path + `","cuts":[[0,-1]]}]}`, `{"files":[{"path":"` + file.Path + `","cuts":[[-5,9]]}]}`,
			`{"files":[{"path":"` + file.Path + `","cuts":[[9223372036854775807,9223372036854775807]]}]}`,
			`{"files":[{"path":"` + file.Path + `","cuts":[[0,9223372036854775807]]}]}`, `{"files":[{"path":"."}]}`,
			`{"files":[{"path":"../x","remove":true}]}`, `{"lines":[{"offset":-1,"leaf":"x","now":"y\n"}],"files":null}`,
			`{"files":[{"path":"` + file.Path + `","of":"x"}]}`,
		},
		Read: func(t testing.TB) error {
			lethetest.Write(t, filepath.Join(id.Dir, "MEMORY.md"), "is 4711 or so")
			plan, err := homepkg.LoadErasePlan(id.Dir)
			if err != nil {
				return err
			}
			for _, file := range plan.Files {
				if file.Remove { // it may be what the next file is written into
					return nil
				}
			}
			_, err = plan.Apply(home.Dir, id.Dir)
			_ = os.Remove(filepath.Join(id.Dir, "LIFE.erased"))
			return err
		},
	}, lethetest.Reader{
		Name: "started", File: "started/" + self, Seeds: []string{"model\n", "offline\nno key\n"},
		Read: func(testing.TB) error {
			id.Started()
			return nil
		},
	}, lethetest.Reader{
		Name: "mirror", File: own + "mirror", Seeds: []string{"3\n", "-1\n", "99999999999999999999\n"},
		Read: func(testing.TB) error { return id.Elsewhere(mind.New()) },
	}, lethetest.Reader{
		Name: "format", File: "format", Seeds: []string{"lethe home 2\n", "lethe home 99\n", "lethe home 99999999999999999999\n"},
		Read: func(testing.TB) error {
			_, err := homepkg.Format(home.Dir)
			return err
		},
	}, lethetest.Reader{
		Name: "lock", File: own + "lock", Seeds: []string{"4711\n", "-1"},
		Read: func(testing.TB) error {
			homepkg.Holder(filepath.Join(id.Dir, "lock"))
			return nil
		},
	}, lethetest.Reader{
		Name: "the reason of a stop", File: own + "wishes/stop", Seeds: []string{homepkg.Drained},
		Read: func(testing.TB) error {
			homepkg.StopReason(id)
			return nil
		},
	}, lethetest.Reader{
		Name: "MEMORY.md", File: own + "MEMORY.md",
		Read: func(testing.TB) error {
			_, err := id.Texts(slog.New(slog.DiscardHandler))
			return err
		},
	}, lethetest.Reader{
		Name: "harness.md", File: "prompts/harness.md", Seeds: []string{mind.VersionMark + " 1 -->\nrules\n", mind.VersionMark},
		Read: func(testing.TB) error {
			_, _, err := home.Harness()
			return err
		},
	})
}

// The names of wishes are files that anybody may make.
func FuzzWish(f *testing.F) {
	for _, name := range []string{"stop", "compact", "compact a%2Fb%25", "compact %zz", "stop-job x", "back -1", "model a%2Fb", "label "} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		w, keep := homepkg.Compaction([]homepkg.Wish{homepkg.Wish(name)})
		if w == "" && keep != "" {
			t.Fatalf("%q asks for no compaction that keeps %q", name, keep)
		}
		if _, again := homepkg.Compaction([]homepkg.Wish{homepkg.CompactWish(keep)}); again != strings.Join(strings.Fields(keep), " ") {
			t.Fatalf("%q keeps %q and then %q", name, keep, again)
		}
	})
}

// A tombstone is made of any blob, or is an error.
func FuzzTombstone(f *testing.F) {
	f.Add(strings.Repeat("ab", 32), []byte("---\nat: 2026-11-20T12:57:16.123456Z\ngist: g\n---\nbody"))
	f.Add("x", []byte("no blob"))
	f.Fuzz(func(t *testing.T, of string, data []byte) {
		file, err := homepkg.Tombstone(of, time.Unix(0, 0).UTC(), data)
		if err != nil {
			return
		}
		if b, err := blobs.Decode(file); err != nil || b.Gone == nil || b.Gone.Of.String() != of {
			t.Fatalf("%q of %q is %+v, %v", file, of, b, err)
		}
	})
}
