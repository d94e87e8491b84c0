package host

import (
	"os"
	"testing"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/tools"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// private opens a host of a home with a life for Ann alone, and boots that.
func private(t *testing.T, settings string) (*Host, home.Identity) {
	t.Helper()
	dir := t.TempDir()
	lethetest.Must(t, os.WriteFile(config.File(dir), []byte(settings), 0o600))
	h := open(t, dir)
	lethetest.Must(t, chat.About{Readers: []string{"ann"}}.Write(h.home.Dir, "ann"))
	bot, err := h.Boot(home.BootOptions{Name: "bot1", Rooms: []string{"ann"}})
	lethetest.Must(t, err)
	return h, bot
}

// A life that others than its owner hear shares no directory with another life, and its commands are confined.
func TestWorkspaceApart(t *testing.T) {
	shared := t.TempDir()
	h, bot := private(t, "people = [\"owner\"]\nuser = \"owner\"\n[tools]\nbash = \"trusted\"\nworkspace = \""+shared+"\"\n"+
		"roots = [\""+t.TempDir()+"\"]\n")
	got, err := h.config(bot)
	lethetest.Must(t, err)
	if got.Tools.Workspace != "" || got.Tools.ExtraRoots != nil || got.Tools.Bash == tools.BashTrusted {
		t.Errorf("it works in %q and %q, with a shell that is %s", got.Tools.Workspace, got.Tools.ExtraRoots, got.Tools.Bash)
	}
	lethetest.Must(t, chat.About{Readers: []string{"owner"}}.Write(h.home.Dir, "mine"))
	mine, err := h.Boot(home.BootOptions{Name: "bot2", Rooms: []string{"mine"}})
	lethetest.Must(t, err)
	if got, err = h.config(mine); err != nil || got.Tools.Workspace != shared || got.Tools.Confined() {
		t.Errorf("the owner's works in %q: %v", got.Tools.Workspace, err)
	}
	lethetest.Must(t, chat.About{Readers: []string{"owner", "ann"}}.Write(h.home.Dir, "mine"))
	if !got.Tools.Confined() {
		t.Error("its shell stays free when Ann reads its room, too")
	}
}
