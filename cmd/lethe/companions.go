package main

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
	"lethe/internal/child"
)

// companions are the bridges that the daemon can keep beside itself.
var companions = []string{telegram.Name, backend.Name}

// children returns the processes that the daemon keeps beside itself. It fails before any of them starts if one lacks
// its token.
func (app *app) children(names []string) (children []child.Process, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to run bridges: %w", err)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		var args []string
		token := ""
		switch name {
		case telegram.Name:
			args, token = []string{"bridge", name}, botToken
			_, err = app.token()
		case backend.Name: // its token is made here, so that this process strikes it out, too
			args = []string{"serve"}
			_, err = serve.Token(app.home.Dir)
		default:
			err = usagef("--with %s: there is no such bridge, only %s", name, strings.Join(companions, ", "))
		}
		if err != nil {
			return nil, err
		}
		children = append(children, child.Process{
			Name: name, Path: exe,
			Args: append(args, "--home", app.home.Dir,
				fmt.Sprintf("--verbose=%t", app.verbose), fmt.Sprintf("--json=%t", app.json)),
			Env: bridgeEnv(os.Environ(), token), Log: app.logTo(app.err), Output: app.err, Permanent: needsPerson,
		})
	}
	return children, nil
}

// needsPerson reports whether a program that ended with an exit code would end so again.
func needsPerson(exit int) bool {
	return slices.Contains([]int{exitUsage, exitNoKey, exitCorrupt, exitNewer}, exit)
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

// beside runs f, and the children as long as it lasts. When a child cannot be kept, beside reports the error, and f goes
// on.
func (app *app) beside(ctx context.Context, children []child.Process, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var kept sync.WaitGroup
	for _, process := range children {
		kept.Go(func() {
			err := process.Run(ctx)
			self := strings.Join(process.Args[:slices.Index(process.Args, "--home")], " ")
			if err != nil {
				app.report(hint(err, "mend it and start the daemon again, or run the bridge by itself: ‹%s›", self))
			}
		})
	}
	err := f(ctx)
	cancel()
	kept.Wait()
	return err
}
