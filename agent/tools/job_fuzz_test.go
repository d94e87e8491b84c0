package tools_test

import (
	"testing"

	"lethe/agent/tools"
	"lethe/internal/test/lethetest"
)

// What stands of a job may be of any bytes.
func FuzzJobs(f *testing.F) {
	dir := f.TempDir()
	reads := func(testing.TB) error {
		tools.ReadJobs(dir)
		tools.LoseJobs(dir)
		_, err := tools.ReadJob(dir, 7)
		return err
	}
	lethetest.FuzzReaders(f, dir, lethetest.Reader{
		Name: "the state of a job", File: "jobs/7/state.json", Read: reads,
		Seeds: []string{`{"id":-1,"began":"2026-11-20T12:57:16Z","end":"exit 0"}`, `{"began":"9999-12-31T23:59:59+23:59"}`, `{"ended":1}`},
	}, lethetest.Reader{
		Name: "the command of a job", File: "jobs/7/command", Read: reads, Seeds: []string{"ls\n"},
	})
}
