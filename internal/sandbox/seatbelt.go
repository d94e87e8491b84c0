package sandbox

import (
	_ "embed"
	"slices"
	"strings"
)

// The rules that a Mac's programs need to run, and further ones to use the network, in the language of sandbox-exec.
// The last rule that matches wins.
var (
	//go:embed seatbelt.sb
	seatbeltBase string
	//go:embed seatbelt_network.sb
	seatbeltNetwork string
)

// Directories that hold a Mac's system.
var macDirs = strings.Fields("/usr /bin /sbin /opt /nix /System " +
	"/Library/Apple /Library/Developer /Library/Frameworks /Library/Java /Applications/Xcode.app " +
	"/private/etc /private/var/db/dyld /private/var/db/timezone /private/var/select /private/var/run/resolv.conf")

// Devices that are neither storage nor anybody's terminal.
var macDevices = strings.Fields("/dev/null /dev/zero /dev/random /dev/urandom /dev/tty /dev/fd")

// seatbelt returns the profile of an order for sandbox-exec. Its paths must be free of links.
func seatbelt(job order) string {
	if !job.Confine {
		return "(version 1)\n(allow default)\n(deny network*)\n"
	}
	profile := seatbeltBase
	if !job.Offline {
		profile += seatbeltNetwork
	}
	return profile +
		subpaths("allow file-read*", macDirs) +
		subpaths("deny file-read*", job.hidden(macDirs)) +
		subpaths("allow file-read*", job.Read) +
		subpaths("allow file-read* file-write*", slices.Concat(macDevices, job.Write)) +
		"(allow file-read-metadata)\n(deny file-write-setugid)\n"
}

// subpaths returns a rule for paths and everything below them.
func subpaths(rule string, paths []string) string {
	if len(paths) == 0 { // a rule without paths applies to all
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, path := range paths {
		rule += "\n  (subpath \"" + escape.Replace(path) + "\")"
	}
	return "(" + rule + ")\n"
}
