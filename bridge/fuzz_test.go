package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// From any inbox.jsonl everything that can be read goes on: what is written anew folds
// to the same, and a message that was taken is not taken again.
func FuzzInbox(f *testing.F) {
	const one = `{"place":"5","take":[{"id":"a","peer":"p-x","room":"dev","user":"Ada","at":"2026-11-20T12:57:16Z",` +
		`"note":{"c":1},"line":"[USER:Ada 2026-11-20T12:57:16Z] /stop","inode":18446744073709551615,"from":-1}]}` + "\n"
	for _, s := range []string{
		"", "\n", "null\n", "{}", one, one + one, one + `{"done":[{"id":"a","from":-9,"to":9223372036854775807},{"id":"b"}]}` +
			"\n", one + `{"done":[{"id":"a","dropped":true}]}` + "\n" + one,
		one + "\x00\x00\n" + strings.ReplaceAll(one, `"a"`, `"◆\u2028\ud800"`),
		`{"seen":["x","x",""],"said":[{"id":"s","room":"dev","hash":"h","at":"0001-01-01T00:00:00Z"}]}` + "\n",
		`{"recheck":"9999-12-31T23:59:59+23:59"}` + "\n",
		one[:40], strings.Repeat(`{"place":`, 20000) + "\n", `{"take":[{"note":null},{"note":[[[]]]}]}` + "\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, torn, err := foldInbox(data)
		if torn && bytes.HasSuffix(data, []byte("\n")) || err == nil && len(data) == 0 {
			t.Fatalf("%q: torn %v, %v", data, torn, err)
		}
		for _, it := range l.waiting {
			if !l.has(it.ID) || l.byID[it.ID] != it {
				t.Fatalf("%q waits and is not known", it.ID)
			}
		}
		snapshot := l.snapshot()
		again, torn, err := foldInbox(snapshot)
		if torn || err != nil {
			t.Fatalf("%q\nbecomes %q: torn %v, %v", data, snapshot, torn, err)
		}
		if !bytes.Equal(again.snapshot(), snapshot) || len(again.waiting) != len(l.waiting) {
			t.Fatalf("%q\nbecomes %q\nand then %q", data, snapshot, again.snapshot())
		}
	})
}

// From any file a peer's position is read as one in a room with something left to do, and
// is written as the same; or the file is kept as it is.
func FuzzPeer(f *testing.F) {
	const one = `{"room":"dev","cursor":{"inode":1,"offset":5,"before":"x"},"newest":"2026-11-20T12:57:16Z",` +
		`"line":{"room":"dev","from":0,"to":5,"parts":[{"data":"eA=="},{"data":""}]}}` + "\n"
	for _, s := range []string{
		"", "{}", "null\n", one, one + `{"part":0,"state":"sent"}` + "\n", one + `{"part":-1,"state":"sent"}` + "\n",
		one + `{"part":99999999999999999999}` + "\n", one + `{"part":0,"sta`,
		one + `{"part":1,"state":"sent"}` + "\n" + `{"part":0,"state":"sent"}` + "\n", strings.Replace(one, "5,", "-5,", 1),
		strings.Replace(one, "dev", "../x", 1), one + one, one + "\x00", `{"room":"dev","asked":{},"earlier":[{},{}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "p.json")
		lethetest.Must(t, os.WriteFile(path, data, 0o600))
		st, err := readPeer(path)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		for _, o := range st.open() {
			_ = o.Room
		}
		p := &peer{shared: alone(""), path: path}
		lethetest.Must(t, p.write(st))
		again, err := readPeer(path)
		a, _ := json.Marshal(again)
		if b, _ := json.Marshal(st); err != nil || !bytes.Equal(a, b) {
			t.Fatalf("%q\nis %s\nand then %s, %v", data, b, a, err)
		}
	})
}
