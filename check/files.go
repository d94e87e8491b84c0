package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/agent"
	"lethe/chat"
	"lethe/internal/durable"
)

// foreign are directories whose content is not Lethe's, or not any more.
var foreign = []string{"workspace", "sandbox", "gate", "jobs", lostFound}

// young is the age below which a file may still be being written: it is passed over.
const young = time.Minute

// forms say what is in files of a name that ends so.
var forms = map[string]func([]byte) bool{
	".json": json.Valid,
	".jsonl": func(data []byte) bool { // the last line may be cut off
		return !slices.ContainsFunc(slices.Collect(bytes.Lines(data)), func(line []byte) bool { return bytes.HasSuffix(line, []byte("\n")) && !json.Valid(line) })
	},
	"recall.db": func(data []byte) bool {
		return json.Valid(data) || bytes.HasPrefix(data, []byte("SQLite format 3\x00"))
	}, // as it was once
}

// files checks the files in a directory of the home and below: modes, what is left over, and forms.
func (c *checker) files(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		inBlobs := strings.HasPrefix(path, c.home.Blobs()+"/")
		if err != nil || inBlobs && (d.IsDir() || len(d.Name()) == 61) { // those are held against their names
			return err
		}
		if d.IsDir() && slices.Contains(foreign, d.Name()) {
			return fs.SkipDir
		}
		fi, err := d.Info()
		if err != nil || fi.Mode()&fs.ModeSymlink != 0 || !d.IsDir() && time.Since(fi.ModTime()) < young {
			return nil
		}
		c.mode(path, fi)
		aside := func() error { return c.aside(path) }
		left := inBlobs || slices.ContainsFunc([]string{".tmp-", ".torn-", ".kept-"}, func(s string) bool { return strings.Contains(d.Name(), s) })
		if life := filepath.Dir(path); filepath.Dir(life) == c.home.Agents() && slices.Contains([]string{"stop", "compact", "stop-job"}, d.Name()) {
			_, running := agent.Running(agent.Identity{Dir: life})
			left = left || !running
		}
		if left && !d.IsDir() {
			c.find("stray file", path, fmt.Sprintf("%d bytes of %s", fi.Size(), fi.ModTime().Format(time.DateTime)), aside)
			return nil
		}
		for end, form := range forms {
			if data, _, err := durable.ReadRegular(path, 1<<28); strings.HasSuffix(path, end) && err == nil && !form(data) {
				c.find("damaged file", path, "it is not what such a file holds", aside)
			}
		}
		return nil
	})
}

// mode checks who may do what with a file or directory.
func (c *checker) mode(path string, fi fs.FileInfo) {
	want, bad, kind := fs.FileMode(0o600), fs.FileMode(0o022), "wrong mode"
	switch {
	case fi.IsDir():
		want, bad = 0o700, 0o077
	case fi.Name() == "SOUL.md" || strings.HasPrefix(path, c.home.Blobs()+"/"):
		want = 0o400
	case path == filepath.Join(c.home.Dir, "key"):
		bad, kind = 0o077, "open key"
	}
	if has := fi.Mode().Perm(); has&bad != 0 || has&want != want {
		c.find(kind, path, fmt.Sprintf("it is %#o, not %#o", has, want), func() error {
			if err := os.Chmod(path, want); !errors.Is(err, fs.ErrNotExist) { // it was damaged, and moved meanwhile
				return err
			}
			return nil
		})
	}
}

// beside checks what stands beside a log, with the state that it folds to.
func (f *folder) beside() error {
	_, running := agent.Running(f.id)
	if torn := f.log.Size - f.log.At.Offset; torn > 0 && !running {
		f.find("torn end", f.where(), fmt.Sprintf("%d bytes follow this line", torn), func() error { return f.tellLost(nil) })
	}
	path := filepath.Join(f.id.Dir, "SOUL.md")
	soul, _, _ := durable.ReadRegular(path, 1<<28)
	self, _ := f.all.find(f.id.Self)
	if boot, err := f.all.Get(self); err == nil && !bytes.Equal(soul, boot.Body) {
		f.find("wrong SOUL", path, "it is not the soul that the identity was booted with", func() error {
			if err := f.aside(path); err != nil {
				return err
			}
			return durable.WriteFile(path, boot.Body, 0o400)
		})
	}
	link, target := filepath.Join(f.home.Names(), f.id.Name), filepath.Join("..", "agents", f.id.Self)
	if to, _ := os.Readlink(link); to != target {
		f.find("no name", link, "it does not lead to "+target, func() error { return durable.Symlink(target, link) })
	}
	_, subs, err := chat.Links(f.id.Subs())
	for _, room := range subs {
		path := filepath.Join(f.id.Subs(), chat.FileName(room))
		f.find("stray file", path, "a subscription is a link to a room", func() error { return f.aside(path) })
	}
	if f.id.Elsewhere(f.s) != nil { // it heard its rooms there
		return err
	}
	for name, room := range f.s.Rooms {
		path, heard := chat.Path(f.home.Dir, name), room.Cursor
		fi, err := os.Stat(path)
		left := f.s.Custody > 0 && (err != nil || fi.Size() == 0) // a room stays where its life came from
		if room.Joined && !left && !heard.Holds(path) {
			f.find("changed room", path, fmt.Sprintf("%s has heard %d bytes of it, which are not the same any more", f.id.Name, heard.Offset), nil)
		}
	}
	return err
}
