package status_test

import (
	"testing"
	"time"

	"lethe/agent/status"
	"lethe/internal/test/lethetest"
)

// What an identity shows may be of any bytes: any program can write these files.
func FuzzFiles(f *testing.F) {
	dir, other := f.TempDir(), f.TempDir()
	lethetest.FuzzReaders(f, dir, lethetest.Reader{
		Name: "status.json", File: "status.json",
		Seeds: []string{
			`{"name":"ada","pid":-1,"state":"acting","rooms":["dev"],"heard":{"dev":-9},"answering":[""],"since":"9999-12-31T23:59:59Z"}`,
			`{"rooms":null,"budget":[{"of":"day","limit":1e300}],"triggers":[{"name":"x","next":"0001-01-01T00:00:00Z"}],"questions":[{}]}`,
			`{"budget":[{"of":"day","limit":-1}],"children":-1,"jobs":[{"began":"x"}]}`,
		},
		Read: func(t testing.TB) error {
			s, err := status.Read(dir)
			if err != nil {
				return err
			}
			s.Brief(time.Unix(0, 0))
			s.BusyIn("dev")
			lethetest.Must(t, status.Write(other, s))
			return nil
		},
	}, lethetest.Reader{
		Name: "live.json", File: status.LiveFile, Seeds: []string{`{"entry":"e1","text":"x","from":-1}`, `{"call":"e1.1","output":"\ud800"}`},
		Read: func(testing.TB) error {
			view := status.NewView(dir)
			view.Flush()
			return nil
		},
	})
}
