package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"lethe/agent/home"
	"lethe/internal/pattern"
)

// Settings are the table serve of config.toml.
type Settings struct {
	Address string   `toml:"address"` // host and port; "" is DefaultAddress
	Socket  string   `toml:"socket"`  // a path; "" is a path in the bridge's directory, and Off opens no socket
	Hosts   []string `toml:"hosts"`   // names in Host that are right beside the names of this machine
	Origins []string `toml:"origins"` // sites: their scripts may use the server
	Cert    string   `toml:"tls_cert"`
	Key     string   `toml:"tls_key"`
	// Unencrypted says that an address beyond loopback without TLS is meant.
	Unencrypted bool            `toml:"allow_unencrypted"`
	Hooks       map[string]Hook `toml:"hooks"` // by name: POST /hooks/NAME
	// People have tokens of their own, for what they may read and where they may speak.
	People []string `toml:"people"`
}

// Hook names the trigger that a webhook wakes: it belongs to an identity, and waits for mail.
type Hook struct {
	Agent   string `toml:"agent"`
	Trigger string `toml:"trigger"`
}

var (
	hookForm = pattern.Lazy(`^[a-z0-9][a-z0-9-]{0,31}$`)
	hostForm = pattern.Lazy(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

// ErrUnencrypted refuses an address that others reach, without TLS.
var ErrUnencrypted = errors.New("others on the way could read the token and all that is said, and use it")

// Check refuses values that make no sense.
func (s Settings) Check() error {
	var faults []error
	unless := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("serve."+format, args...))
		}
	}
	_, port, err := net.SplitHostPort(cmp.Or(s.Address, DefaultAddress))
	unless(err == nil && port != "", "address = %q is not a host with a port, such as \"127.0.0.1:8420\"", s.Address)
	unless((s.Cert == "") == (s.Key == ""), "tls_cert and tls_key go together")
	unless(len(s.Socket) <= longestSocket, "socket = %q is too long: at most %d bytes", s.Socket, longestSocket)
	for _, name := range s.Hosts {
		unless(hostForm().MatchString(name),
			"hosts has %q, which is not a name such as \"lethe.example.org\", without a port", name)
	}
	for _, origin := range s.Origins {
		err := http.NewCrossOriginProtection().AddTrustedOrigin(origin)
		unless(err == nil, "origins has %q, which is not of the form \"https://example.org\"", origin)
	}
	for _, name := range s.People {
		unless(hookForm().MatchString(name), "people: %q is not a name: at most 32 of a-z, 0-9 and -", name)
	}
	for name, h := range s.Hooks {
		unless(hookForm().MatchString(name), "hooks: %q is not a name: at most 32 of a-z, 0-9 and -", name)
		unless(home.ValidName(h.Agent) && h.Trigger != "",
			"hooks.%s needs agent and trigger: whom it wakes, and by which file of its triggers", name)
	}
	return errors.Join(faults...)
}

// In makes relative paths those in the home.
func (s Settings) In(home string) Settings {
	for _, path := range []*string{&s.Cert, &s.Key, &s.Socket} {
		relative := *path != "" && !filepath.IsAbs(*path)
		if relative && *path != Off {
			*path = filepath.Join(home, *path)
		}
	}
	return s
}

// PersonTokenFile is the file with the token of a person.
func PersonTokenFile(home, name string) string { return filepath.Join(dir(home), "people", name) }

// HookTokenFile is the file with the token of a webhook.
func HookTokenFile(home, name string) string { return filepath.Join(dir(home), "hooks", name) }
