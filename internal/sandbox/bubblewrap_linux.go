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
)

// Confiner returns Landlock or Bubblewrap, whichever confines commands here. Its error names the missing part and the
// remedy. It probes the system once.
var Confiner = sync.OnceValues(func() (string, error) {
	abi := landlockABI()
	filter := canFilter()
	err := confinable(abi, filter)
	switch {
	case err == nil:
		return Landlock, nil
	case !filter: // bubblewrap does not deny the calls that filterCalls denies
		return "", err
	}
	if why := tryBubblewrap(); why != nil {
		return "", fmt.Errorf("%w. Bubblewrap could confine them too, but %w", err, why)
	}
	return Bubblewrap, nil
})

// tryBubblewrap returns nil if bubblewrap can confine commands here, else the reason why not.
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

// bubblewrap returns the beginning of a command line: it runs the rest of that line in namespaces that hold only the
// granted paths, by the same rules as those of order.rule. The seccomp filters of giveUp are in force before it runs; they
// deny the network and local sockets.
func bubblewrap(job order) []string {
	args := strings.Fields("bwrap --die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-uts " +
		"--cap-drop ALL --dev /dev --proc /proc")
	hide := slices.Sorted(slices.Values(job.hidden(systemDirs))) // sorted: a directory comes before the ones in it
	for _, path := range slices.Concat(systemDirs, resolverFiles) {
		if path == "/proc" { // mounted above
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		hidden := slices.ContainsFunc(hide, func(h string) bool { return Within(real, h) })
		if err != nil || hidden {
			continue
		}
		args = append(args, "--ro-bind", real, real)
		if real != path && filepath.Dir(path) == "/" {
			args = append(args, "--symlink", real, path)
		}
	}
	// Without the second, root could set the kernel's parameters in /proc.
	seal := []string{"--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/"}
	for _, path := range hide {
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			args = append(args, "--tmpfs", path)
			seal = append(seal, "--remount-ro", path)
		} else if err == nil {
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	for _, path := range job.Read {
		args = append(args, "--ro-bind-try", path, path)
	}
	for _, path := range job.Write {
		args = append(args, "--bind", path, path)
	}
	return append(append(args, seal...), "--chdir", job.Dir, "--")
}
