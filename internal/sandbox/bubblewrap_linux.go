package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Confiner names what confines commands here, or says what is missing and what to do. It looks once.
var Confiner = sync.OnceValues(func() (string, error) {
	abi, _ := ll.LandlockGetABIVersion() // 0 where there is none
	filter := canFilter()
	err := confinable(abi, filter)
	switch {
	case err == nil:
		return Landlock, nil
	case !filter: // bubblewrap would leave what filterCalls denies
		return "", err
	}
	if why := tryBubblewrap(); why != nil {
		return "", fmt.Errorf("%w. Bubblewrap could confine them too, but %w", err, why)
	}
	return Bubblewrap, nil
})

// tryBubblewrap says why bubblewrap confines nothing here.
func tryBubblewrap() error {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return errors.New("it is not installed (apt install bubblewrap)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	args := append(bubblewrap(order{Command: Command{Dir: "/"}}), "true")
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("it fails: %w: %.200s", err, bytes.TrimSpace(out))
	}
	return nil
}

// bubblewrap is the beginning of a command line that runs the rest of it with the rules that landlocked applies: in
// namespaces of its own, in which there is nothing but what is granted. Seccomp filters are in force by then, and keep
// what is run from the network and from local sockets.
func bubblewrap(o order) []string {
	args := strings.Fields("bwrap --die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-uts " +
		"--cap-drop ALL --dev /dev --proc /proc")
	hide := slices.Sorted(slices.Values(o.hidden(systemDirs))) // the home of Lethe after that of the user, in which it lies
	for _, path := range slices.Concat(systemDirs, resolverFiles) {
		real, err := filepath.EvalSymlinks(path)
		hidden := slices.ContainsFunc(hide, func(h string) bool { return Within(real, h) })
		if err != nil || hidden || path == "/proc" {
			continue
		}
		args = append(args, "--ro-bind", real, real)
		if real != path && filepath.Dir(path) == "/" {
			args = append(args, "--symlink", real, path)
		}
	}
	seal := []string{"--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/"} // /proc: else root sets the kernel
	for _, path := range hide {
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			args = append(args, "--tmpfs", path)
			seal = append(seal, "--remount-ro", path)
		} else if err == nil {
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	for _, path := range o.Read {
		args = append(args, "--ro-bind-try", path, path)
	}
	for _, path := range o.Write {
		args = append(args, "--bind", path, path)
	}
	return append(append(args, seal...), "--chdir", o.Dir, "--")
}
