// Package push sends people's devices notices for these people, by the Web Push of browsers (RFC 8030, encrypted by RFC
// 8291): of each line of a room for notices.
//
//	err := push.Add(home, "my phone", subscription) // as the browser made it
//	err = push.Run(ctx, push.Config{Backend: b, Room: "notify-ada", Key: key, Transport: t})
//
// A device is a peer of package bridge, so a line is sent to it in order, again until the push service has taken it,
// and not after a restart. Between the sending and its mark a crash sends it twice; the device shows it once, by its
// tag. A browser names the address of its push service: it is https, and Transport decides whether it is reached.
package push

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/internal/durable"
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
	maxFile     = 16 << 20 // bytes
)

// changes keeps changes of the list apart; one process serves a home.
var changes sync.Mutex

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
	device := Device{Name: cmp.Or(blobs.Gist(name), "a device"), At: time.Now().UTC().Truncate(time.Second)}
	_ = json.Unmarshal([]byte(subscription), &device.Subscription) // what makes no sense names no address
	if !strings.HasPrefix(device.Endpoint, "https://") {
		return report.Invalid("the browser names no push service at an https address")
	}
	sum := sha256.Sum256([]byte(device.Endpoint))
	device.ID = hex.EncodeToString(sum[:8])
	return replace(home, device.ID, device)
}

// Remove takes a device off the list: nothing more is sent to it.
func Remove(home, id string) error { return replace(home, id) }

// replace lists devices in the place of the one with this id, durably.
func replace(home, id string, by ...Device) error {
	changes.Lock()
	defer changes.Unlock()
	all, err := Devices(home)
	if err != nil {
		return err
	}
	all = append(slices.DeleteFunc(all, func(d Device) bool { return d.ID == id }), by...)
	data, _ := json.MarshalIndent(all, "", "  ") // texts: cannot fail
	return durable.WriteFile(path(home, devicesFile), append(data, '\n'), 0o600)
}

// NewKey makes a key that shows push services this server: the private part, a full stop, and the public part, which
// browsers need to subscribe.
func NewKey() string {
	private, public, _ := webpush.GenerateVAPIDKeys() // of this machine's random numbers: cannot fail
	return private + "." + public
}
