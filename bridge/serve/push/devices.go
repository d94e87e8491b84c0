// Package push tells people's devices of what needs them, by the Web Push of browsers (RFC 8030, encrypted by RFC 8291):
// of each line of a room for notices.
//
//	err := push.Add(home, "my phone", subscription) // as the browser made it
//	err = push.Run(ctx, push.Config{Home: home, Room: "notify-ada", Bridge: b, Watcher: w, Transport: t})
//
// A device is a peer of package bridge, so a line is sent to it in order, again until the push service has taken it, and
// not after a restart. Between the sending and its mark a crash sends it twice; the device shows it once, by its tag.
// Addresses are what a browser said: they are https, and Transport decides which of them are reached.
package push

import (
	"cmp"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/internal/durable"
	"lethe/report"
)

// Device is a browser that is told of notices.
type Device struct {
	ID   string    `json:"id"` // made of the endpoint
	Name string    `json:"name"`
	At   time.Time `json:"at"` // when it was added
	webpush.Subscription
}

const (
	devicesFile = "devices.json"
	mostDevices = 20
	maxFile     = 1 << 20 // bytes
	maxEndpoint = 2 << 10 // bytes
	authBytes   = 16      // of the secret of a subscription
)

// files guards what is in the directory of the server against other goroutines: one process serves a home.
var files sync.Mutex

func path(home, name string) string { return filepath.Join(home, "bridges", backend.Name, name) }

// Devices lists the devices of a home, those added last at the end.
func Devices(home string) (all []Device, err error) {
	data, err := durable.ReadWhole(path(home, devicesFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the devices that get notices from %s: %w", path(home, devicesFile), err)
	}
	return all, nil
}

// Add lists a device by the subscription of its browser, in JSON. One that is listed already is listed anew.
func Add(home, name, subscription string) error {
	d := Device{Name: cmp.Or(blobs.Gist(name), "a device"), At: time.Now().UTC().Truncate(time.Second)}
	if err := json.Unmarshal([]byte(subscription), &d.Subscription); err != nil {
		return report.Invalid("the browser's subscription cannot be read: %v", err)
	}
	to, err := url.Parse(d.Endpoint)
	if err != nil || to.Scheme != "https" || to.Host == "" || to.User != nil || len(d.Endpoint) > maxEndpoint {
		return report.Invalid("the browser names no push service at an https address")
	}
	point, _ := base64.RawURLEncoding.DecodeString(d.Keys.P256dh)
	auth, _ := base64.RawURLEncoding.DecodeString(d.Keys.Auth)
	if _, err := ecdh.P256().NewPublicKey(point); err != nil || len(auth) != authBytes {
		return report.Invalid("the browser's subscription has no keys to encrypt with")
	}
	sum := sha256.Sum256([]byte(d.Endpoint))
	d.ID = hex.EncodeToString(sum[:8])
	return change(home, func(all []Device) ([]Device, error) {
		if all = without(all, d.ID); len(all) >= mostDevices {
			return nil, report.Invalid("there are %d devices already; remove one first", mostDevices)
		}
		return append(all, d), nil
	})
}

// Remove takes a device off the list: nothing is sent to it any more.
func Remove(home, id string) error {
	return change(home, func(all []Device) ([]Device, error) { return without(all, id), nil })
}

func without(all []Device, id string) []Device {
	return slices.DeleteFunc(all, func(d Device) bool { return d.ID == id })
}

// change replaces the list, durably.
func change(home string, to func([]Device) ([]Device, error)) error {
	files.Lock()
	defer files.Unlock()
	all, err := Devices(home)
	if err == nil {
		all, err = to(all)
	}
	if err != nil {
		return err
	}
	data, _ := json.MarshalIndent(all, "", "  ") // texts: cannot fail
	return durable.WriteFile(path(home, devicesFile), append(data, '\n'), 0o600)
}

// NewKey makes a private key by which push services know a server, as Config has it.
func NewKey() string {
	key, _ := ecdh.P256().GenerateKey(rand.Reader) // cannot fail
	return base64.RawURLEncoding.EncodeToString(key.Bytes())
}

// Public is what a browser subscribes with, of a private key.
func Public(private string) (string, error) {
	raw, _ := base64.RawURLEncoding.DecodeString(private)
	key, err := ecdh.P256().NewPrivateKey(raw)
	if err != nil {
		return "", fmt.Errorf("read the key for push: %w; without its file there is a new one, and devices are added again", err)
	}
	return base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), nil
}
