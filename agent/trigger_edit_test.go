package agent

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/lethetest"
	"lethe/tools"
)

// A trigger whose text is edited while its command runs fires all the same, with the new text.
func TestTriggerEditedWhileItFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home, err := OpenHome(t.TempDir())
		lethetest.Must(t, err)
		store, err := blobs.Open(home.Blobs())
		lethetest.Must(t, err)
		id, err := Boot(home, store, BootOptions{Name: "ada", Rooms: []string{"dev"}})
		lethetest.Must(t, err)
		lethetest.Must(t, os.Mkdir(id.Dir+"/triggers", 0o700))
		write := func(say string) {
			lethetest.Must(t, os.WriteFile(id.Dir+"/triggers/beat.toml", []byte("every = \"1h\"\nrun = \"look\"\nsay = \""+say+"\"\n"), 0o600))
		}
		write("Old:")
		found := []string{"a letter", ""}
		a, err := Open(id, Config{
			Home: home, Store: store, Watcher: chat.NewWatcher(0, nil), Model: &noModel{}, DefaultModel: "none", Tools: tools.Config{Bash: tools.BashTrusted},
			runTrigger: func(context.Context, string, string) (text, failure string) {
				text, found = found[0], found[1:]
				write("Newer:")
				time.Sleep(time.Second)
				return text, ""
			},
		})
		lethetest.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.Run(ctx) }()
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		cancel()
		lethetest.Must(t, <-ended)
		line, err := os.ReadFile(chat.Path(home.Dir, "dev"))
		if err != nil || strings.Count(string(line), "] Newer:\u2028a letter\n") != 1 {
			t.Errorf("%v %q", err, line)
		}
	})
}
