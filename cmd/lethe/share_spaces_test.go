//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// TestShareTrialInSpaces is the trial on three machines, each a network namespace with a host and a NATS server of its own,
// whose cables are pulled: a cut one loses its own server, too. Clocks are ten minutes apart. It needs root, and LETHE_LONG=1.
func TestShareTrialInSpaces(t *testing.T) {
	lethetest.Unraced(t)
	if os.Getuid() != 0 || !lethetest.Long() {
		t.Skip("needs root, for network namespaces, and LETHE_LONG=1")
	}
	runTrial(t, spacesEngine(t))
}

// spacesEngine makes three namespaces, which a bridge joins.
func spacesEngine(t *testing.T) *engine {
	const bridge, count = "lethe-trial", 3
	ip := func(orders string) {
		t.Helper()
		for line := range strings.Lines(orders) {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v: %s", line, err, out)
			}
		}
	}
	cable := func(k int) string { return "lt" + string(rune('0'+k)) }
	remove := func() {
		for k := range count {
			_ = exec.Command("ip", "netns", "del", sharetest.Space(k)).Run()
		}
		_ = exec.Command("ip", "link", "del", bridge).Run()
	}
	remove() // of a test that was killed
	t.Cleanup(remove)
	ip("link add " + bridge + " type bridge\naddr add 10.59.0.254/24 dev " + bridge + "\nlink set " + bridge + " up")
	for k := range count {
		space, host := sharetest.Space(k), sharetest.SpaceHost(k)
		ip("netns add " + space + "\nlink add " + cable(k) + " type veth peer name eth0 netns " + space +
			"\nlink set " + cable(k) + " master " + bridge + " up\n-n " + space + " addr add " + host + "/24 dev eth0\n-n " + space +
			" link set eth0 up\n-n " + space + " link set lo up")
	}
	cluster := sharetest.NATSInSpaces(t)
	filter := func(k int, args ...string) {
		args = append([]string{"netns", "exec", sharetest.Space(k), "iptables", "-w"}, args...)
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Errorf("ip %q: %v: %s", args, err, out)
		}
	}
	e := &engine{
		name: "namespaces", url: func(int) string { return cluster.URL("home") },
		via: func(k int) []string { return []string{"ip", "netns", "exec", sharetest.Space(k)} },
		cut: func(k int, way string) {
			switch way {
			case deaf:
				filter(k, "-A", "OUTPUT", "-o", "eth0", "-j", "DROP")
			case mute:
				filter(k, "-A", "INPUT", "-i", "eth0", "-j", "DROP")
			default:
				ip("link set " + cable(k) + " down")
			}
		},
		heal: func(k int) {
			filter(k, "-F")
			ip("link set " + cable(k) + " up")
		},
	}
	e.leader = func() { killLeader(cluster) }
	return e
}
