package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"lethe/bridge/serve"
	"lethe/bridge/serve/backend"
	"lethe/bridge/telegram"
	"lethe/cmd/lethe/bot"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
	"lethe/internal/child"
)

// bridgeProcesses returns the processes of bridges that the daemon keeps beside itself. It fails, before any process
// starts, if one lacks its token.
func bridgeProcesses(app *cli.App, names []string) ([]child.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to run bridges: %w", err)
	}
	var processes []child.Process
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		process := child.Process{
			Name: name, Path: exe, Log: app.LogTo(app.Err), Output: app.Err, Permanent: needsPerson,
		}
		switch name {
		case telegram.Name:
			process.Args = []string{"bridge", name}
			process.Env = bridgeEnv(os.Environ(), bot.Variable)
			_, err = app.BotToken()
		case backend.Name:
			process.Args = []string{"serve"}
			process.Env = bridgeEnv(os.Environ(), "")
			_, err = serve.Token(app.Home.Dir) // made here, so that this process strikes it out, too
		default:
			err = exit.Usagef("--with %s: there is no such bridge, only %s", name, strings.Join(cli.Bridges, ", "))
		}
		if err != nil {
			return nil, err
		}
		process.Args = append(process.Args, "--home", app.Home.Dir,
			fmt.Sprintf("--verbose=%t", app.Verbose), fmt.Sprintf("--json=%t", app.JSON))
		processes = append(processes, process)
	}
	return processes, nil
}

// needsPerson reports whether a program that ended with an exit code would end so again.
func needsPerson(code int) bool {
	return slices.Contains([]int{exit.Usage, exit.NoKey, exit.Corrupt, exit.Newer}, code)
}

// bridgeEnv returns the environment of a bridge: the variables that reach the network, and its own token, but no key
// of a model.
func bridgeEnv(env []string, token string) []string {
	keep := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "GORACE",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", token}
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(keep, strings.ToUpper(name)) && !strings.HasPrefix(name, "LC_")
	})
}

// besideBridges runs f, and the bridges as long as it lasts. A bridge that cannot be kept is reported, and f goes on.
func besideBridges(
	ctx context.Context, app *cli.App, bridges []child.Process, f func(context.Context) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var kept sync.WaitGroup
	for _, bridge := range bridges {
		kept.Go(func() {
			err := bridge.Run(ctx)
			if err == nil {
				return
			}
			command := strings.Join(bridge.Args[:slices.Index(bridge.Args, "--home")], " ")
			app.Report(exit.Hint(err, "mend it and start the daemon again, or run the bridge by itself: %s",
				app.Lethe("%s", command)))
		})
	}
	err := f(ctx)
	cancel()
	kept.Wait()
	return err
}
