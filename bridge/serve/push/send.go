package push

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/chat"
)

// Config names the lines that are sent, and the way to the devices.
type Config struct {
	*backend.Backend
	Room    string // its lines are sent; "": nothing is
	Key     string // as NewKey makes it
	Contact string // an https address for people who run push services
	// Transport decides which addresses are reached.
	Transport http.RoundTripper
}

const (
	lasts    = 24 * time.Hour // a line is sent that is no older, and a push service keeps it for so long
	sendTime = 20 * time.Second
	prefix   = "push-" // of the keys of peers that are devices
)

// Run sends the lines of the room to all devices, as they come and go, until ctx ends.
func Run(ctx context.Context, config Config) error {
	changed, cancel := config.Watcher.Subscribe(chat.Scope{Dir: path(config.Dir, ""), Names: []string{devicesFile}})
	defer cancel()
	for ctx.Err() == nil {
		var under sync.WaitGroup
		round, end := context.WithCancel(ctx)
		config.Bridge.LocalTrouble("send notices to devices", config.deliver(round, &under))
		select {
		case <-ctx.Done():
		case <-changed:
		}
		end()
		under.Wait()
	}
	return nil
}

// deliver starts what sends to each device, and forgets how far those were that are gone.
func (c Config) deliver(ctx context.Context, under *sync.WaitGroup) error {
	devices, err := Devices(c.Dir)
	if err != nil {
		return err
	}
	gone, err := c.Bridge.Peers()
	if err != nil {
		return err
	}
	for _, d := range devices {
		peer := bridge.Peer{Key: prefix + d.ID, Room: c.Room}
		if c.Room != "" {
			gone = slices.DeleteFunc(gone, func(key string) bool { return key == peer.Key })
			under.Go(func() { _ = c.Bridge.Deliver(ctx, peer, sender{c, d}) }) // which refuses none of these peers
		}
	}
	var failed error // the first; the others are forgotten all the same
	for _, key := range gone {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if err := c.Bridge.Forget(key); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// sender sends to a device.
type sender struct {
	Config
	Device
}

// Do follows no redirect, and its errors have no address, which is a secret of the device.
func (s sender) Do(r *http.Request) (*http.Response, error) { return s.Transport.RoundTrip(r) }

// Parts makes a line what the worker of the page shows, in a few words, unless it is too old to be news.
func (s sender) Parts(_ bridge.Peer, line bridge.Line) ([]bridge.Part, error) {
	if time.Since(line.At) > lasts {
		return nil, nil
	}
	room, text := chat.ParseNotice(line.Text)
	title, shows := line.Name, "/agents/"+url.PathEscape(line.Name)+"/now"
	if room != "" {
		title += " in " + room
		shows += "?room=" + room
	}
	if q, ok := chat.ParseQuestion(text); ok {
		title = line.Name + " asks"
		text = strings.Join(append([]string{q.Text}, q.Options...), " · ")
	}
	notice := map[string]string{"title": title, "body": blobs.Gist(text), "url": shows, "tag": line.Hash}
	data, err := json.Marshal(notice)
	return []bridge.Part{{Data: data}}, err
}

// Send encrypts a message and hands it to the push service of the device.
func (s sender) Send(ctx context.Context, _ bridge.Peer, part bridge.Part) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	private, public, _ := strings.Cut(s.Key, ".")
	resp, err := webpush.SendNotificationWithContext(ctx, part.Data, &s.Subscription, &webpush.Options{
		HTTPClient: s, Subscriber: s.Contact, TTL: int(lasts.Seconds()), Urgency: webpush.UrgencyHigh,
		VAPIDPublicKey: public, VAPIDPrivateKey: private,
	})
	if err != nil {
		return err
	}
	resp.Body.Close()
	err = fmt.Errorf("%s answers %s", resp.Request.URL.Host, resp.Status)
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone: // the browser has given the subscription up
		if failed := Remove(s.Dir, s.ID); failed != nil {
			return failed
		}
		return fmt.Errorf("%w: %w", bridge.ErrUnreachable, err) // else it is sent again until the loop knows
	case seconds > 0:
		return &bridge.LaterError{After: min(time.Duration(seconds)*time.Second, time.Hour), Err: err}
	case code == http.StatusTooManyRequests || code/100 == 5:
		return err
	}
	return fmt.Errorf("%w: %w", bridge.ErrUnreachable, err)
}
