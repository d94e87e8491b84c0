package serving

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"lethe/bridge/serve/backend"
	"lethe/cmd/lethe/cli"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

// browse prints a login link, and has the browser of the desktop, if there is one, open it. The browser is given a file
// that leads there: commands of agents can read the list of processes, and not the file.
func browse(app *cli.App, link string) {
	announce(app, "open", link)
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	file := filepath.Join(app.Home.Dir, "bridges", backend.Name, "open.html")
	page := fmt.Sprintf("<!doctype html><title>Lethe</title><meta http-equiv=refresh content=\"0;url=%s\">", link)
	if err := durable.Replace(file, []byte(page), 0o600); err != nil {
		return // the link is there to be pasted
	}
	cmd := exec.Command(opener, file)
	cmd.Env = slices.DeleteFunc(os.Environ(), holdsSecret) // no key goes there
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}   // it may be the browser
	if err := cmd.Start(); err != nil {
		return
	}
	go func() { _ = cmd.Wait() }() // ends with the opener, or with this process
}

func holdsSecret(text string) bool { return secret.Text(text) != text }
