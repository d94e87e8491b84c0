package sandbox

import (
	_ "embed"
	"slices"
	"strings"
)

// What a Mac's programs need to run, in the language of sandbox-exec, and what they need besides to use the network.
// The last rule that fits is in force.
var (
	//go:embed seatbelt.sb
	seatbeltBase string
	//go:embed seatbelt_network.sb
	seatbeltNetwork string
)

// Directories that hold a Mac's system.
var macDirs = strings.Fields("/usr /bin /sbin /opt /nix /System /Library/Apple /Library/Developer /Library/Frameworks " +
	"/Library/Java /Applications/Xcode.app /private/etc /private/var/db/dyld /private/var/db/timezone " +
	"/private/var/select /private/var/run/resolv.conf")

// Devices that are neither storage nor anybody's terminal.
var macDevices = strings.Fields("/dev/null /dev/zero /dev/random /dev/urandom /dev/tty /dev/fd")

// seatbelt is the profile with which sandbox-exec applies an order on a Mac. It holds for paths without links.
func seatbelt(o order) string {
	if !o.Confine {
		return "(version 1)\n(allow default)\n(deny network*)\n"
	}
	profile := seatbeltBase
	if !o.Offline {
		profile += seatbeltNetwork
	}
	return profile +
		subpaths("allow file-read*", macDirs) +
		subpaths("deny file-read*", o.hidden(macDirs)) +
		subpaths("allow file-read*", o.Read) +
		subpaths("allow file-read* file-write*", slices.Concat(macDevices, o.Write)) +
		"(allow file-read-metadata)\n(deny file-write-setugid)\n"
}

// subpaths is a rule for paths and what is below them.
func subpaths(rule string, paths []string) string {
	if len(paths) == 0 { // it would hold for all
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, path := range paths {
		rule += "\n  (subpath \"" + escape.Replace(path) + "\")"
	}
	return "(" + rule + ")\n"
}
