package sandbox

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/internal/durable"
)

// The script runs a line where Command.Through leads. Its standard input stays open as long as the call lasts. At its
// end, also by the daemon's death, all processes are killed there that have the call's mark in their environment.
//
//go:embed elsewhere.sh
var elsewhere string

// Run runs command until it ends or ctx does, with its output going to out. When it
// returns, everything that the command started is dead, unless the error is
// ErrStuck. A command that cannot be started is an Outcome, not an error.
func Run(ctx context.Context, command Command, out io.Writer) (Outcome, error) {
	if len(command.Through) > 0 {
		quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
		script := fmt.Sprintf("dir=%s line=%s mark=LETHE_CALL=%s size=%d\n%s",
			quoted(command.Dir), quoted(command.Line), rand.Text(), len(command.Fed), elsewhere)
		open, end := io.Pipe()
		defer end.Close()
		command = Command{
			Args: append(command.Through[:len(command.Through):len(command.Through)], script), Dir: command.Dir,
			Input: io.MultiReader(strings.NewReader(command.Fed), open), Errors: command.Errors,
		}
	}
	return run(ctx, command, out)
}

// Try returns an error unless commands that run elsewhere have a directory as it is here, and leave nothing there when
// they are killed.
func Try(through []string, dir string) error {
	mark := rand.Text()
	file := filepath.Join(dir, "."+mark)
	if err := durable.WriteFile(file, []byte(mark), 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began, stop := context.WithCancel(ctx)
	const runs, left = "export LETHE_PROBE=%s\nsetsid sleep 600 &\necho; sleep 600", "for i in 1 2 3 4 5; do grep -qsa LETHE_PROBE=%s " +
		"/proc/[0-9]*/environ || break; sleep 1; [ $i -lt 5 ] || echo left; done; cat .%[1]s"
	command := Command{Through: through, Dir: dir, Line: fmt.Sprintf(runs, mark)}
	end, err := Run(began, command, &Head{Full: stop})
	command.Line = fmt.Sprintf(left, mark)
	there := &Head{Most: 200}
	if began.Err() != nil {
		end, err = Run(ctx, command, there)
	}
	if text := string(there.Kept); text != mark {
		return fmt.Errorf("tools.shell: a killed command stays, or %s is another directory there: it says %q (%+v, %v); "+
			"tools.shell_untried = true starts all the same", dir, text, end, err)
	}
	return nil
}
