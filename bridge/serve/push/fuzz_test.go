package push

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/internal/test/lethetest"
)

// takes is a push service that takes anything.
type takes struct{}

func (takes) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Status: "201 Created", Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// The devices, and the key by which push services know this server, may be of any bytes.
func FuzzFiles(f *testing.F) {
	home := f.TempDir()
	key := NewKey()
	_, point, _ := strings.Cut(key, ".")
	const subscription = `{"endpoint":"https://push.example/phone","keys":{"auth":"AAAAAAAAAAAAAAAAAAAAAA","p256dh":"POINT"}}`
	lethetest.Write(f, path(home, devicesFile), "[]")
	lethetest.Must(f, Add(home, "phone", strings.Replace(subscription, "POINT", point, 1)))
	whole := lethetest.Read(f, path(home, devicesFile))
	send := func(t testing.TB, key string) error {
		devices, err := Devices(home)
		for _, d := range devices {
			c := Config{Backend: &backend.Backend{}, Key: key, Transport: takes{}}
			err = sender{c, d}.Send(t.Context(), bridge.Peer{}, bridge.Part{Data: []byte("{}")})
		}
		return err
	}
	lethetest.FuzzReaders(f, home, lethetest.Reader{
		Name: devicesFile, File: "bridges/" + backend.Name + "/" + devicesFile,
		Seeds: []string{
			whole, `[{}]`, `[null]`, `[{"endpoint":"https://a.example","keys":{"auth":"AA","p256dh":"BA"}}]`,
			`[{"endpoint":"\u0000://x","keys":{"auth":"x","p256dh":""}}]`, strings.Replace(whole, `"p256dh": "B`, `"p256dh": "A`, 1),
		},
		Read: func(t testing.TB) error { return send(t, key) },
	}, lethetest.Reader{
		Name: "push.key", File: "push.key", Seeds: []string{key, ".", "AA.AA", strings.Repeat("_", 43) + "." + strings.Repeat("-", 87)},
		Read: func(t testing.TB) error {
			lethetest.Write(t, path(home, devicesFile), whole)
			return send(t, strings.TrimSpace(lethetest.Read(t, filepath.Join(home, "push.key"))))
		},
	})
}
