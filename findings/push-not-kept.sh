#!/usr/bin/env bash
# webpush-go 1.4.0: without a TTL a notice is sent with "TTL: 0", so a push service drops it where the device sleeps.
#
# Guess:    a TTL that is left out means as long as possible, as with the library for Node: four weeks.
# Behaviour: the header is always sent, and 0 means (RFC 8030, 5.2) that the notice is delivered now or never. The answer is
#           201 all the same, so nothing tells that phones with their screens off get none.
# Remedy:   set TTL, in seconds.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/SherClockHolmes/webpush-go"
)

func main() {
	got := "no request"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = fmt.Sprintf("TTL %q", r.Header["Ttl"])
		w.WriteHeader(http.StatusCreated)
	}))
	device, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		panic(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	answer, err := webpush.SendNotification([]byte("hello"), &webpush.Subscription{Endpoint: service.URL,
		Keys: webpush.Keys{Auth: text(make([]byte, 16)), P256dh: text(device.PublicKey().Bytes())},
	}, &webpush.Options{Subscriber: "a@example.org", VAPIDPublicKey: public, VAPIDPrivateKey: private})
	if err != nil {
		panic(err)
	}
	fmt.Println("the push service reads", got, "and answers", answer.Status)
	if got != `TTL ["0"]` {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/SherClockHolmes/webpush-go@v1.4.0 >/dev/null 2>&1
echo "webpush-go v1.4.0, $(go version)"
go run .
