package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/audience"
)

func TestMain(m *testing.M) {
	lethetest.AskFaults()
	os.Exit(m.Run())
}

// world is a home.
type world struct {
	testing.TB
	home  home.Home
	store *blobs.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home, err := home.Open(filepath.Join(lethetest.Dir(t), "home"))
	lethetest.Must(t, err)
	store, err := blobs.Open(home.Blobs())
	lethetest.Must(t, err)
	return &world{t, home, store}
}

// boot makes a sealed life with some notes, a trigger and a file.
func (w *world) boot(name string) home.Identity {
	w.Helper()
	id, err := home.Boot(w.home, w.store, home.BootOptions{Name: name, Rooms: []string{"dev"}})
	lethetest.Must(w, err)
	lethetest.Write(w, filepath.Join(id.Dir, "MEMORY.md"), "remember\n")
	lethetest.Write(w, filepath.Join(id.Dir, "triggers", "brief.toml"), "at = \"09:00\"\n")
	lethetest.Write(w, filepath.Join(id.Dir, "workspace", "src", "a b.txt"), "work\n")
	lethetest.Must(w, os.Symlink("/etc/passwd", filepath.Join(id.Dir, "workspace", "link")))
	w.held(id, func(held *journal.Journal) {
		_, total, at, err := chat.Tail(chat.Path(w.home.Dir, "dev"), 0)
		lethetest.Must(w, err)
		first := &event.First{Inode: at.Inode, At: at.Offset, Before: at.Before, Last: at.Last, Total: total}
		joined := event.Joined{N: held.State.Next, Room: "dev", First: first}
		lethetest.Must(w, held.Commit(journal.Told(joined, "joined", "You hear dev.")))
	})
	w.live(id, 5)
	return id
}

func (w *world) held(id home.Identity, f func(*journal.Journal)) {
	w.Helper()
	held, err := journal.Hold(w.home, id, w.store, nil)
	lethetest.Must(w, err)
	defer held.Close()
	f(held)
}

// live adds entries to a life, and seals it.
func (w *world) live(id home.Identity, n int) {
	w.Helper()
	w.held(id, func(held *journal.Journal) {
		for range n {
			text := strings.Repeat("what happened ", held.State.Next)
			lethetest.Must(w, held.Commit(journal.Told(event.Note{N: held.State.Next, Why: "lost"}, "note", text)))
		}
		lethetest.Must(w, held.Epoch("stop", nil))
	})
}

func (w *world) export(id home.Identity, o WriteOptions) []byte {
	w.Helper()
	var b bytes.Buffer
	_, err := Write(&b, w.home, w.store, id, o)
	lethetest.Must(w, err)
	return b.Bytes()
}

func (w *world) read(archive []byte, o ReadOptions) (Result, error) {
	return Read(bytes.NewReader(archive), w.home, w.store, o)
}

// taken takes in what is sound.
func (w *world) taken(archive []byte) Result {
	w.Helper()
	got, err := w.read(archive, ReadOptions{})
	lethetest.Must(w, err)
	return got
}

// worlds returns two homes, and a life of the first.
func worlds(t testing.TB) (a, b *world, ada home.Identity) {
	t.Helper()
	a, b = newWorld(t), newWorld(t)
	return a, b, a.boot("ada")
}

func (w *world) state(id home.Identity) *mind.State {
	w.Helper()
	s, err := home.Fold(id, w.store)
	lethetest.Must(w, err)
	_, err = s.Conserved()
	lethetest.Must(w, err)
	return s
}

// part is a file of an archive that a test takes apart.
type part struct {
	tar.Header
	text string
}

func open(t testing.TB, archive []byte) (parts []part) {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(archive))
	lethetest.Must(t, err)
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return parts
		}
		lethetest.Must(t, err)
		text, err := io.ReadAll(r)
		lethetest.Must(t, err)
		parts = append(parts, part{*h, string(text)})
	}
}

// plain is what an archive says before it is compressed, as far as it can be read.
func plain(archive []byte) []byte {
	z, err := zstd.NewReader(bytes.NewReader(archive), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil
	}
	defer z.Close()
	all, err := io.ReadAll(z)
	if err != nil {
		return nil
	}
	return all
}

// pack compresses what an archive is to say.
func pack(t testing.TB, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	lethetest.Must(t, err)
	return z.EncodeAll([]byte(text), nil)
}

func shut(t testing.TB, parts []part) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	lethetest.Must(t, err)
	w := tar.NewWriter(z)
	for _, p := range parts {
		if p.Size == 0 && p.Typeflag == tar.TypeReg {
			p.Size = int64(len(p.text))
		}
		lethetest.Must(t, w.WriteHeader(&p.Header))
		_, err := io.WriteString(w, p.text)
		lethetest.Must(t, err)
	}
	lethetest.Must(t, errors.Join(w.Close(), z.Close()))
	return b.Bytes()
}

// files are those of a home, with what is in them, but for what a lock or a room's touch leaves.
func (w *world) files() (all string) {
	w.Helper()
	lethetest.Must(w, filepath.WalkDir(w.home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "lock" && !strings.HasPrefix(path, w.home.Chats()) {
			text, rerr := os.ReadFile(path)
			err, all = rerr, all+path+" "+blobs.Sum(text).String()+"\n"
		}
		return err
	}))
	return all
}

// A life moves to another home, lives there, and comes back; each time all that it is comes along, and a life is
// lived in one place.
func TestMoveAndReturn(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	before := a.state(ada)
	first := a.export(ada, WriteOptions{Workspace: true})
	if again := a.export(ada, WriteOptions{Workspace: true}); !bytes.Equal(first, again) {
		t.Error("the same life gives other bytes")
	}
	elsewhere := new(home.ElsewhereError)
	if _, err := journal.Hold(a.home, ada, a.store, nil); !errors.As(err, &elsewhere) || elsewhere.Mirror {
		t.Errorf("a life that was moved is held: %v", err)
	}
	got := b.taken(first)
	there := got.Identity
	lethetest.Holds(t, filepath.Join(there.Dir, "MEMORY.md"), "remember\n")
	lethetest.Holds(t, filepath.Join(there.Dir, "triggers", "brief.toml"), "at = \"09:00\"\n")
	lethetest.Holds(t, filepath.Join(there.Dir, "workspace", "src", "a b.txt"), "work\n")
	lethetest.Holds(t, filepath.Join(there.Dir, "SOUL.md"), lethetest.Read(t, filepath.Join(ada.Dir, "SOUL.md")))
	after := b.state(there)
	if after.Custody != 1 || after.Moved || after.Next != before.Next || after.Stable != before.Stable || !after.Rooms["dev"].Joined {
		t.Errorf("before:\n%+v\nafter:\n%+v", before, after)
	}
	was := lethetest.Read(t, there.LIFE())
	if again, err := b.read(first, ReadOptions{}); err != nil || !again.Known {
		t.Errorf("an import is not finished already: %+v, %v", again, err)
	}
	lethetest.Holds(t, there.LIFE(), was)
	b.live(there, 3)
	a.taken(b.export(there, WriteOptions{}))
	if back := a.state(ada); back.Custody != 2 || back.Moved || back.Next != before.Next+3 {
		t.Errorf("back: %+v", back)
	}
	lethetest.Holds(t, filepath.Join(ada.Dir, "workspace", "src", "a b.txt"), "work\n")
	a.live(ada, 1)
	if _, err := a.read(first, ReadOptions{}); err == nil {
		t.Error("an old archive is imported over a life")
	}
}

// A copy is a mirror, which a later copy replaces; it becomes the life when its owner says so.
func TestMirror(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	whole := a.export(ada, WriteOptions{Copy: true})
	a.live(ada, 4)
	later := a.export(ada, WriteOptions{Copy: true})
	b.taken(whole)
	for range 2 {
		got := b.taken(later)
		elsewhere := new(home.ElsewhereError)
		if _, err := journal.Hold(b.home, got.Identity, b.store, nil); !errors.As(err, &elsewhere) || !elsewhere.Mirror {
			t.Errorf("a mirror is held: %v", err)
		}
		lethetest.Holds(t, got.Identity.LIFE(), lethetest.Read(t, ada.LIFE()))
	}
	if _, err := b.read(whole, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "the archive is older") {
		t.Errorf("an older copy: %v", err)
	}
	got, err := b.read(later, ReadOptions{Restore: true})
	lethetest.Must(t, err)
	if s := b.state(got.Identity); s.Custody != 1 || got.Identity.Elsewhere(s) != nil {
		t.Errorf("restored: %+v", s)
	}
	if _, err := b.read(a.export(ada, WriteOptions{}), ReadOptions{}); err == nil {
		t.Error("a life that was restored is overwritten by the one that it was copied from")
	}
}

// A seal whose append a power loss has torn is not what an archive ends with.
func TestTornText(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	whole := lethetest.Read(t, ada.LIFE())
	a.live(ada, 1)
	lines := strings.SplitAfter(lethetest.Read(t, ada.LIFE()), " epoch ")
	_, ref, _ := strings.Cut(lines[len(lines)-1], "◱hash=")
	h, err := a.store.Resolve(ref[:16])
	lethetest.Must(t, err)
	lethetest.Must(t, os.Remove(a.store.Path(h)))
	got := b.taken(a.export(ada, WriteOptions{Copy: true}))
	lethetest.Holds(t, got.Identity.LIFE(), whole)
}

// What a life that is here has linked in its workspace, an archive does not write through.
func TestImportFollowsNoLink(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	ada, outside := a.boot("ada"), lethetest.Dir(t)
	got := b.taken(a.export(ada, WriteOptions{Workspace: true}))
	src := filepath.Join(ada.Dir, "workspace", "src")
	lethetest.Must(t, errors.Join(os.RemoveAll(src), os.Symlink(outside, src)))
	if _, err := a.read(b.export(got.Identity, WriteOptions{Workspace: true}), ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), `workspace/src: is no directory here`) {
		t.Errorf("imported through a link: %v", err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
	lethetest.Holds(t, filepath.Join(ada.Dir, "triggers", "brief.toml"), "at = \"09:00\"\n")
}

// An identity is called in a home what one could be booted as.
func TestImportedName(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	archive := a.export(a.boot("ada"), WriteOptions{Copy: true})
	for _, name := range []string{"../../evil", "Ada", "cron-x"} {
		if _, err := b.read(archive, ReadOptions{Name: name}); err == nil {
			t.Errorf("imported as %s", name)
		}
	}
}

// A life that is here keeps the name that it has here.
func TestImportKeepsTheName(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	archive := a.export(a.boot("ada"), WriteOptions{Copy: true})
	for _, name := range []string{"bea", "", "carl"} {
		got, err := b.read(archive, ReadOptions{Name: name})
		lethetest.Must(t, err)
		if names, _ := os.ReadDir(b.home.Names()); got.Identity.Name != "bea" || len(names) != 1 {
			t.Errorf("imported as %q: %s, %v", name, got.Identity.Name, names)
		}
	}
}

// What was erased since goes from a mirror, too, also what was erased before in part.
func TestMirrorOfAnErasure(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	first := a.state(ada).Live[0].Ref.Hash
	for _, left := range []string{"You hear dev.", "once", "twice"} {
		was, err := a.store.Get(first)
		lethetest.Must(t, err)
		if left != string(was.Body) {
			tomb, err := a.store.Bury(blobs.Tombstone{Of: first, Why: blobs.Erased, At: time.Now()}, was.Meta, []byte(left))
			lethetest.Must(t, err)
			a.held(ada, func(held *journal.Journal) {
				lethetest.Must(t, held.Epoch("erased", nil,
					journal.Record{Event: event.Erased{Why: "erased", Blobs: []event.Buried{{Address: first.String(), Tombstone: tomb.String()}}}}))
			})
		}
		b.taken(a.export(ada, WriteOptions{Copy: true}))
		if got, err := b.store.Get(first); err != nil || string(got.Body) != left {
			t.Errorf("%q, %v, want %q", got.Body, err, left)
		}
	}
}

// Killed at any step, or with one that fails, an import leaves no life or a whole one, and can be done again.
func TestEveryStepOfAnImportFails(t *testing.T) {
	t.Parallel()
	a := newWorld(t)
	ada := a.boot("ada")
	lethetest.Must(t, ada.SetHired(home.Hired{Role: "nurse", For: []string{"ann"}}))
	archive := a.export(ada, WriteOptions{Workspace: true})
	for n, done := 0, false; !done; n += lethetest.Sample(7, 3, 1) {
		for _, stage := range []durable.Stage{durable.Before, durable.After} {
			lethetest.Tried(t, 1)
			b := newWorld(t)
			b.role("nurse", "tools = [\"SAY\"]\n")
			left, failed := n, false
			mended := lethetest.Break(t, b.home.Dir, func(s durable.Stage, _, _ string) error {
				if left--; s == stage && left < 0 && !failed {
					failed = true
					return errors.New("injected")
				}
				return nil
			})
			_, err := b.read(archive, ReadOptions{})
			mended()
			if done = !failed; done {
				lethetest.Must(t, err)
			}
			all, lerr := b.home.List()
			lethetest.Must(t, lerr)
			if len(all) == 1 { // it is whole
				b.live(all[0], 1)
			} else {
				b.taken(archive)
				b.live(b.id("ada"), 1)
			}
			if work, err := b.id("ada").Hired(); err != nil || work == nil || !slices.Equal(work.With.Tools, []string{"SAY"}) {
				t.Errorf("step %d: hired as %+v, %v", n, work, err)
			}
		}
	}
}

func (w *world) id(name string) home.Identity {
	w.Helper()
	id, err := w.home.Find(name)
	lethetest.Must(w, err)
	return id
}

// role writes a role into a home.
func (w *world) role(name, settings string) {
	w.Helper()
	lethetest.Write(w, filepath.Join(w.home.Roles(), name, "SOUL.md"), "You are a "+name+".")
	lethetest.Write(w, filepath.Join(w.home.Roles(), name, "role.toml"), settings)
}

// A hired life runs with its role in the home where it goes on, whatever came, or with what came where there is none. Here
// it is not kept running any more.
func TestHiredMoves(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	came := home.Role{Tools: []string{"BASH", "SAY"}, Model: "dear", Day: 100, Wake: "mentions"}
	lethetest.Must(t, ada.SetHired(home.Hired{Role: "nurse", For: []string{"ann"}, With: came}))
	lethetest.Must(t, ada.Start(false, ""))
	b.role("nurse", "tools = [\"SAY\"]\nday_usd = 2\n")
	archive := a.export(ada, WriteOptions{})
	if _, kept := ada.Started(); kept {
		t.Error("it is kept running where it went away")
	}
	c := newWorld(t)
	came.Model = ""
	for w, want := range map[*world]home.Role{b: {Tools: []string{"SAY"}, Day: 2}, c: came} {
		got := w.taken(archive)
		work, err := got.Identity.Hired()
		lethetest.Must(t, err)
		if !reflect.DeepEqual(work, &home.Hired{Role: "nurse", For: []string{"ann"}, With: want}) || strings.Contains(got.Hired, "no such role") != (w == c) {
			t.Errorf("hired as %+v, told as %s", work, got.Hired)
		}
	}
	a.role("nurse", "")
	a.taken(b.export(b.id("ada"), WriteOptions{}))
	if work, err := ada.Hired(); err != nil || !reflect.DeepEqual(work.With, home.Role{}) {
		t.Errorf("back: %+v, %v", work, err)
	}
}

// The work of a hired life is foreign, too.
func TestHiredIsHostile(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	b.role("../other", "model = \"dear\"\n") // beside the roles
	b.role("bad", "wake = \"never\"\n")
	for text, refused := range map[string]string{
		"role = \"nurse\"\n[with]\nday_usd = -5.0":                 "",
		"role = \"nurse\"\n[with]\nday_usd = inf\nmonth_usd = nan": "",
		"role = \"bad\"": "wake = \"never\" is none of",
		"role = \"../other\"\n[with]\nmodel = \"dearest\"": "",
		"role = \"nur": "cannot be read",
	} {
		lethetest.Write(t, filepath.Join(ada.Dir, "hired.toml"), text)
		got, err := b.read(a.export(ada, WriteOptions{Copy: true}), ReadOptions{})
		if is := refused != "" && refused != "cannot be read"; is != (err != nil) || is && !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil {
			if all, _ := b.home.List(); len(all) > 0 {
				t.Errorf("%s: %v is left", text, all)
			}
			continue
		}
		work, err := got.Identity.Hired()
		if (err != nil) != (refused != "") || err == nil && (!strings.Contains(got.Hired, "no such role") || work.With.Model != "" || err == nil && work.With.Day+work.With.Month != 0) {
			t.Errorf("%s: %+v, %v", text, work, err)
		}
		lethetest.Must(t, b.home.Remove(b.store, got.Identity))
	}
}

// What is not an archive as Write writes it is refused with one line, and nothing is left of it.
func TestHostile(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	a.boot("bob")
	good := a.export(ada, WriteOptions{Workspace: true})
	bob := b.boot("bob")
	manifest := func(old, new string) func([]part) []part {
		return func(p []part) []part {
			p[0].text, p[0].Size = strings.Replace(p[0].text, old, new, 1), 0
			return p
		}
	}
	find := func(p []part, prefix string) *part {
		for i := range p {
			if strings.HasPrefix(p[i].Name, prefix) {
				return &p[i]
			}
		}
		t.Fatalf("no %s", prefix)
		return nil
	}
	add := func(name string, kind byte) func([]part) []part {
		return func(p []part) []part {
			extra := part{text: "x"}
			extra.Name, extra.Mode, extra.Typeflag = name, 0o4777, kind
			if kind != tar.TypeReg {
				extra.text, extra.Linkname = "", "/etc/passwd"
			}
			p[0].text, p[0].Size = p[0].text+file{blobs.Sum([]byte(extra.text)), int64(len(extra.text)), name}.String(), 0
			return append(p, extra)
		}
	}
	type row struct {
		change func([]part) []part
		want   string
	}
	const alien, differs = "which no archive has there", "where its MANIFEST lists"
	rows := map[string]row{
		"traversal":   {add("workspace/../../../x", tar.TypeReg), alien},
		"absolute":    {add("/etc/x", tar.TypeReg), alien},
		"other file":  {add("zz", tar.TypeReg), alien},
		"config":      {add("../../config.toml", tar.TypeReg), alien},
		"task":        {add("task.toml", tar.TypeReg), alien},
		"control":     {add("workspace/z\x1b[2J", tar.TypeReg), alien},
		"long":        {add("workspace/"+strings.Repeat("z/", maxPath)+"z", tar.TypeReg), alien},
		"long name":   {add("workspace/"+strings.Repeat("z", 300), tar.TypeReg), "file name too long"},
		"link":        {add("workspace/z", tar.TypeSymlink), differs},
		"hard link":   {add("workspace/z", tar.TypeLink), differs},
		"device":      {add("workspace/z", tar.TypeChar), differs},
		"pipe":        {add("workspace/z", tar.TypeFifo), differs},
		"file as dir": {add("workspace/src/a b.txt/x", tar.TypeReg), "file exists"},
		"twice":       {func(p []part) []part { return add(p[len(p)-1].Name, tar.TypeReg)(p) }, alien},
		"not listed": {func(p []part) []part { return append(p, part{tar.Header{Name: "zz", Typeflag: tar.TypeReg}, "x"}) },
			"does not list"},
		"missing":       {func(p []part) []part { return p[:len(p)-1] }, "it ends before"},
		"order":         {func(p []part) []part { p[3], p[4] = p[4], p[3]; return p }, differs},
		"no MANIFEST":   {func(p []part) []part { return p[1:] }, "not with a MANIFEST"},
		"empty":         {func([]part) []part { return nil }, "it ends early"},
		"bytes":         {func(p []part) []part { f := find(p, "MEMORY"); f.text = "R" + f.text[1:]; return p }, "not what its MANIFEST says"},
		"size":          {func(p []part) []part { f := find(p, "MEMORY"); f.text += "x"; f.Size++; return p }, differs},
		"huge":          {manifest(" 9 MEMORY.md", " 9223372036854775800 MEMORY.md"), alien},
		"large":         {manifest(" 9 MEMORY.md", " 1125899906842624 MEMORY.md"), "no space left"},
		"negative":      {manifest(" 9 MEMORY.md", " -9 MEMORY.md"), alien},
		"spelling":      {manifest(" 9 MEMORY.md", " 09 MEMORY.md"), alien},
		"newer":         {manifest("archive 1", "archive 2"), "knows formats up to 1"},
		"kind":          {manifest("kind move", "kind gift"), "only a move or a copy"},
		"name":          {manifest("name ada", "name ../../x"), "does not begin as one does"},
		"self":          {manifest("self "+ada.Self, "self "+strings.Repeat("0", 64)), "damaged"},
		"other self":    {manifest("self "+ada.Self, "self "+bob.Self), "damaged"},
		"name is taken": {manifest("name ada", "name bob"), "already"},
		"checkpoint": {func(p []part) []part {
			f := find(p, "CHECKPOINT")
			old := blobs.Sum([]byte(f.text))
			f.text = strings.Replace(f.text, "\n", "\n9", 1)
			f.Size = 0
			return manifest(old.String()+" "+"", blobs.Sum([]byte(f.text)).String()+" ")(p)
		}, "MANIFEST"},
	}
	for name, more := range map[string]string{"behind the seal": "[2026-11-20T12:57:16Z] labelled label=x #000000000000\n", "torn end": "x"} {
		rows[name] = row{func(p []part) []part {
			f := find(p, "LIFE.md")
			line := file{blobs.Sum([]byte(f.text)), int64(len(f.text)), "LIFE.md"}
			f.text, f.Size = f.text+more, 0
			return manifest(line.String(), file{blobs.Sum([]byte(f.text)), int64(len(f.text)), "LIFE.md"}.String())(p)
		}, "damaged"}
	}
	rows["no LIFE"] = row{manifest(" LIFE.md\n", " LIFE.erased\n"), "lists no LIFE.md"}
	before := b.files()
	for name, row := range rows {
		_, err := b.read(shut(t, row.change(open(t, good))), ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", name, err)
		}
		if after := b.files(); after != before {
			t.Fatalf("%s left something:\n%s\nbefore:\n%s", name, after, before)
		}
	}
	for n := 0; n < len(good); n += max(1, len(good)/lethetest.Sample(5, 40, 4000)) {
		if _, err := b.read(good[:n], ReadOptions{}); err == nil {
			t.Fatalf("the first %d bytes are an archive", n)
		}
		bad := bytes.Clone(good)
		if bad[n] ^= 0x10; bytes.Equal(plain(bad), plain(good)) {
			continue // a bit that means nothing to zstd
		}
		_, _ = b.read(bad, ReadOptions{})
		if len(b.files()) != len(before) {
			t.Fatalf("with another byte %d it was imported, or something is left", n)
		}
	}
	if _, err := b.read(append(good[:len(good):len(good)], good...), ReadOptions{}); err == nil {
		t.Error("two archives are one")
	}
	for name, end := range map[string]string{"cut": strings.Repeat("\x00", 700), "overwritten": strings.Repeat("x", 1024)} {
		unpacked := plain(good)
		_, err := b.read(pack(t, string(unpacked[:len(unpacked)-1024])+end), ReadOptions{})
		if !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the end is %s: %v", name, err)
		}
	}
	if b.files() != before {
		t.Error("something is left")
	}
	b.taken(good)
}

// An encrypted archive opens with the key, of either kind, and with no other.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	a := newWorld(t)
	ada := a.boot("ada")
	old, err := age.GenerateX25519Identity()
	lethetest.Must(t, err)
	hybrid, err := age.GenerateHybridIdentity()
	lethetest.Must(t, err)
	if _, err := Write(io.Discard, a.home, a.store, ada, WriteOptions{To: []string{"age1nobody"}}); err == nil {
		t.Errorf("encrypted to nobody: %v", err)
	}
	if a.state(ada).Moved {
		t.Error("a life was moved into no archive")
	}
	for _, key := range []struct{ to, key, other string }{{old.Recipient().String(), old.String(), hybrid.String()},
		{hybrid.Recipient().String(), hybrid.String(), old.String()}} {
		b := newWorld(t)
		archive := a.export(ada, WriteOptions{Copy: true, To: []string{key.to}})
		if bytes.Contains(archive, []byte("MANIFEST")) {
			t.Error("not encrypted")
		}
		for _, wrong := range []string{"", key.other, "AGE-SECRET-KEY-1NOT"} {
			if _, err := b.read(archive, ReadOptions{Keys: []byte(wrong)}); !errors.Is(err, ErrKey) ||
				wrong != "" && strings.Contains(err.Error(), wrong) {
				t.Errorf("with %q: %v", wrong, err)
			}
		}
		if _, err := b.read(archive[:len(archive)-1], ReadOptions{Keys: []byte(key.key)}); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut: %v", err)
		}
		_, err := b.read(archive, ReadOptions{Keys: []byte("# a comment\n" + key.key + "\n")})
		lethetest.Must(t, err)
	}
}

// A key of this machine leaves it in no archive that anybody can read, wherever a chunk of the file ends.
func TestKeyOfTheMachine(t *testing.T) {
	const key = "sk-0123456789abcdef"
	secret.Add(key)
	a := newWorld(t)
	ada := a.boot("ada")
	lethetest.Write(t, filepath.Join(ada.Dir, "MEMORY.md"), strings.Repeat("x", 32<<10-5)+key)
	if _, err := Write(io.Discard, a.home, a.store, ada, WriteOptions{}); !errors.Is(err, ErrSecret) || a.state(ada).Moved {
		t.Errorf("%v, moved: %v", err, a.state(ada).Moved)
	}
	own, err := age.GenerateX25519Identity()
	lethetest.Must(t, err)
	a.export(ada, WriteOptions{To: []string{own.Recipient().String()}})
}

// docs/archive.md has a MANIFEST as Write writes it.
func TestManifestOnThePage(t *testing.T) {
	text := lethetest.Blocks(t, "archive.md", "manifest")[0]
	m, total, err := parse(text)
	if err != nil || m.String() != text || total != 0 || m.Files() != 4 || m.Kind != Copy || m.Name != "ada" {
		t.Errorf("%+v, %d, %v", m, total, err)
	}
}

// What is no MANIFEST is refused, and what is one is written as it was read.
func FuzzManifest(f *testing.F) {
	f.Add(Manifest{Kind: Move, Self: strings.Repeat("ab", 32), Name: "ada",
		files: []file{{path: "LIFE.md", size: 7}, {path: "workspace/x"}}}.String())
	f.Add("lethe archive 9\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, _, err := parse(text)
		if err != nil {
			return
		}
		if m.String() != text {
			t.Errorf("%q is read as %q", text, m.String())
		}
		for _, f := range m.files {
			if !filepath.IsLocal(f.path) || strings.Contains(f.path, "\n") {
				t.Errorf("%q", f.path)
			}
		}
	})
}

// A life whose snapshot names a room that is null is refused as damage, though its hashes and seals are true.
func TestHostileSnapshot(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	a.held(ada, func(held *journal.Journal) {
		lethetest.Must(t, held.Epoch("stop", func(s *mind.State) error {
			s.Rooms["ghost"] = nil
			return nil
		}))
	})
	_, err := b.read(a.export(ada, WriteOptions{Copy: true}), ReadOptions{})
	if !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// splice puts bytes in the place of as many at some place of a text.
func splice(text string, at int, with []byte) string {
	at = max(0, min(at, len(text)))
	return text[:at] + string(with) + text[min(at+len(with), len(text)):]
}

// An archive of any bytes is refused, or taken in whole: of those behind its compression, or of those of one of its files,
// of which the MANIFEST then tells.
func FuzzRead(f *testing.F) {
	a := newWorld(f)
	good := a.export(a.boot("ada"), WriteOptions{Copy: true, Workspace: true})
	parts, text := open(f, good), string(plain(good))
	f.Add(-1, len(text)-1024, bytes.Repeat([]byte("x"), 1024))
	f.Add(-1, 124, []byte("77777777777"))
	f.Add(-1, 156, []byte("x"))
	f.Add(-1, 700, []byte("-1"))
	for n := range parts {
		f.Add(n, 0, []byte{})
		f.Add(n, 40, []byte("-1"))
		f.Add(n, 1<<20, []byte("\x00\n[2026-11-20T12:57:16Z] labelled label=x #000000000000\n"))
	}
	b := newWorld(f)
	f.Fuzz(func(t *testing.T, n, at int, with []byte) {
		archive := pack(t, splice(text, at, with))
		if n >= 0 {
			changed := slices.Clone(parts)
			changed[n%len(parts)].text = splice(changed[n%len(parts)].text, at, with)
			changed[n%len(parts)].Size = 0
			if n%len(parts) > 0 {
				m, _, err := parse(parts[0].text)
				lethetest.Must(t, err)
				for i, p := range changed[1:] {
					m.files[i].sum, m.files[i].size = blobs.Sum([]byte(p.text)), int64(len(p.text))
				}
				changed[0].text, changed[0].Size = m.String(), 0
			}
			archive = shut(t, changed)
		}
		got, err := b.read(archive, ReadOptions{})
		all, lerr := b.home.List()
		lethetest.Must(t, lerr)
		if whole := err == nil && len(all) == 1 && got.Verdict.Fault == nil; !whole && (err == nil || len(all) > 0) {
			t.Fatalf("%d identities, %+v, %v", len(all), got, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("%v", err)
		}
		for _, id := range all { // the next one is taken in, too
			lethetest.Must(t, os.RemoveAll(id.Dir))
			lethetest.Must(t, os.Remove(filepath.Join(b.home.Names(), id.Name)))
		}
	})
}

// What age encrypted, or seems to have, is refused without its key.
func FuzzDecrypt(f *testing.F) {
	f.Add([]byte("age-encryption.org/v1\n-> X25519 x\n--- x\n"), []byte("AGE-SECRET-KEY-1\n"))
	f.Fuzz(func(t *testing.T, archive, keys []byte) {
		plain, err := decrypt(bufio.NewReader(bytes.NewReader(archive)), keys)
		if err == nil {
			_, _ = io.Copy(io.Discard, plain)
		}
	})
}

// A life that is imported hears no room of its rooms' names that other people read; in a new one it keeps its readers.
func TestImportApart(t *testing.T) {
	t.Parallel()
	a, b, ada := worlds(t)
	a.held(ada, func(held *journal.Journal) {
		ann := mind.PeopleOf(audience.Readers{"ann"})
		lethetest.Must(t, held.Commit(journal.Record{Event: event.Readers{Room: "dev", People: ann}}))
		lethetest.Must(t, held.Commit(journal.Record{Event: event.Audience{People: ann}}))
	})
	a.live(ada, 1)
	archive := a.export(ada, WriteOptions{Copy: true})
	c := newWorld(t)
	b.boot("bea")    // hears another dev
	d := newWorld(t) // knows another dev, in which nobody has spoken
	lethetest.Must(t, chat.About{Readers: []string{"carl"}}.Write(d.home.Dir, "dev"))
	for w, want := range map[*world]int{b: 0, c: 1, d: 0} {
		got, err := w.read(archive, ReadOptions{Restore: true})
		lethetest.Must(t, err)
		rooms, err := chat.Rooms(got.Identity.Subs())
		if lethetest.Must(t, err); len(rooms) != want || w.state(got.Identity).Readers.String() != "ann" {
			t.Errorf("it hears %v, want %d rooms", rooms, want)
		}
		if want == 1 && w.home.Readers("dev").String() != "ann" {
			t.Errorf("%s may read the room", w.home.Readers("dev"))
		}
	}
}
