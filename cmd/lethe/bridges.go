package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent/tools"
	"lethe/bridge"
	"lethe/bridge/serve"
	"lethe/bridge/serve/backend"
	"lethe/bridge/telegram"
	"lethe/internal/child"
)

func (p *program) bridgesCommand(call) error {
	all, err := bridge.ReadHealth(p.home.Dir)
	return cmp.Or(p.words("bridges", all, err), sick(all))
}

// ago says how long ago a time was.
func ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return tools.Span(max(0, time.Since(at))) + " ago"
}

// sick is an error when a bridge needs somebody to look at it.
func sick(all []bridge.Health) error {
	var bad []string
	for _, h := range all {
		if why := h.Ailment(); why != "" {
			bad = append(bad, h.Name+" is "+why)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return errors.New("bridges: " + strings.Join(bad, ", "))
}

// companions are the bridges that the daemon can keep beside itself.
var companions = []string{telegram.Name, backend.Name}

// children are the processes that the daemon keeps beside itself. What one of
// them needs and is not there is told before anything starts.
func (p *program) children(names []string) (out []child.Process, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to run bridges: %w", err)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		args, token := []string{"serve"}, ""
		switch name {
		case telegram.Name:
			args, token = []string{"bridge", name}, botToken
			_, err = p.token()
		case backend.Name: // its token is made here, so that this process strikes it out, too
			_, err = serve.Token(p.home.Dir)
		default:
			err = usagef("--with %s: there is no such bridge, only %s", name, strings.Join(companions, ", "))
		}
		if err != nil {
			return nil, err
		}
		args = append(args, "--home", p.home.Dir, fmt.Sprintf("--verbose=%t", p.verbose), fmt.Sprintf("--json=%t", p.json))
		out = append(out, child.Process{
			Name: name, Path: exe, Args: args, Env: bridgeEnv(os.Environ(), token), Log: p.logTo(p.err), Output: p.err,
			Permanent: func(exit int) bool {
				return slices.Contains([]int{exitUsage, exitNoKey, exitCorrupt, exitNewer}, exit)
			},
		})
	}
	return out, nil
}

// bridgeEnv is the environment of a bridge: what it takes to reach the network, and the
// variable of its own token, but no key of the model.
func bridgeEnv(env []string, token string) []string {
	keep := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "GORACE",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", token}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(keep, strings.ToUpper(name)) && !strings.HasPrefix(name, "LC_")
	})
}

// beside runs f, and the children as long as it lasts. A child that cannot be
// kept is told of, and f goes on.
func (p *program) beside(ctx context.Context, children []child.Process, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var kept sync.WaitGroup
	for _, c := range children {
		kept.Go(func() {
			err := c.Run(ctx)
			self := strings.Join(c.Args[:slices.Index(c.Args, "--home")], " ")
			if err != nil {
				p.report(hint(err, "mend it and start the daemon again, or run the bridge by itself: ‹%s›", self))
			}
		})
	}
	err := f(ctx)
	cancel()
	kept.Wait()
	return err
}
