package share_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// natsGoesOn creates texts in a store that is open: one, then none while its keys are refused, then the one that waited.
func natsGoesOn(t *testing.T, url string, refuse func(), words string, mend func()) {
	t.Helper()
	s := sharetest.Open(t, url, time.Minute)
	lethetest.Must(t, s.Create(t.Context(), "life", 1, []byte("one")))
	refuse()
	soon := sharetest.Open(t, url, 100*time.Millisecond)
	lethetest.Eventually(t, words, func() bool {
		err := soon.Create(t.Context(), "life", 2, []byte("two"))
		return errors.Is(err, share.ErrAway) && strings.Contains(err.Error(), words)
	})
	mend()
	lethetest.Must(t, s.Create(t.Context(), "life", 2, []byte("two")))
	sharetest.Newest(t, s, "life", 2)
}

func noNATS(t *testing.T) {
	for _, name := range []string{"USER", "PASSWORD", "CREDS", "CA", "CERT", "KEY", "NKEY"} {
		t.Setenv("NATS_"+name, "")
	}
}

// A password is another one while hosts run.
func TestNATSPassword(t *testing.T) {
	noNATS(t)
	user := func(password string) string {
		return `authorization { users: [{user: me, password: ` + password + `}] }`
	}
	c := sharetest.NATS(t, 1, false)
	c.Set(0, user("password-1"))
	t.Setenv("NATS_USER", "me")
	t.Setenv("NATS_PASSWORD", "password-1")
	natsGoesOn(t, c.URL("home"), func() { c.Set(0, user("password-2")) }, "Authorization Violation",
		func() { t.Setenv("NATS_PASSWORD", "password-2") })
}

// The seed of an nkey proves who connects.
func TestNATSSeed(t *testing.T) {
	noNATS(t)
	pair, err := nkeys.CreateUser()
	lethetest.Must(t, err)
	public, err := pair.PublicKey()
	lethetest.Must(t, err)
	seed, err := pair.Seed()
	lethetest.Must(t, err)
	c := sharetest.NATS(t, 1, false)
	c.Set(0, `authorization { users: [{nkey: `+public+`}] }`)
	path := filepath.Join(t.TempDir(), "me.nk")
	lethetest.Write(t, path, string(seed)+"\n")
	t.Setenv("NATS_NKEY", path)
	sharetest.Contract(t, c.URL("home"))
}

// A file of credentials that has expired is written anew while hosts run.
func TestNATSCreds(t *testing.T) {
	noNATS(t)
	operator, err := nkeys.CreateOperator()
	lethetest.Must(t, err)
	signed := func(subject nkeys.KeyPair, by nkeys.KeyPair, claims func(public string) jwt.Claims) (public, token string) {
		t.Helper()
		public, err := subject.PublicKey()
		lethetest.Must(t, err)
		token, err = claims(public).Encode(by)
		lethetest.Must(t, err)
		return public, token
	}
	account := func(disk int64) (nkeys.KeyPair, string, string) {
		pair, err := nkeys.CreateAccount()
		lethetest.Must(t, err)
		public, token := signed(pair, operator, func(public string) jwt.Claims {
			claims := jwt.NewAccountClaims(public)
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: disk, DiskStorage: disk, Streams: disk, Consumer: disk}
			return claims
		})
		return pair, public, token
	}
	system, systemID, systemToken := account(0)
	_ = system
	own, ownID, ownToken := account(-1)
	_, root := signed(operator, operator, func(public string) jwt.Claims {
		claims := jwt.NewOperatorClaims(public)
		claims.SystemAccount = systemID
		return claims
	})
	c := sharetest.NATS(t, 1, false)
	c.Set(0, fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		root, systemID, systemID, systemToken, ownID, ownToken))
	path := filepath.Join(t.TempDir(), "me.creds")
	write := func(lasts time.Duration) {
		user, err := nkeys.CreateUser()
		lethetest.Must(t, err)
		_, token := signed(user, own, func(public string) jwt.Claims {
			claims := jwt.NewUserClaims(public)
			claims.Expires = time.Now().Add(lasts).Unix()
			return claims
		})
		seed, err := user.Seed()
		lethetest.Must(t, err)
		creds, err := jwt.FormatUserConfig(token, seed)
		lethetest.Must(t, err)
		lethetest.Write(t, path, string(creds))
	}
	write(8 * time.Second)
	t.Setenv("NATS_CREDS", path)
	natsGoesOn(t, c.URL("home"), func() { time.Sleep(8 * time.Second) }, "Auth", func() { write(time.Hour) })
}

// authority signs certificates of servers and clients for an address.
func authority(t *testing.T, dir string) (ca string, sign func(name string) (cert, key string)) {
	t.Helper()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		lethetest.Write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})))
		return path
	}
	form := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			BasicConstraintsValid: true, IsCA: name == "ca",
		}
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	lethetest.Must(t, err)
	root := form("ca")
	bytes, err := x509.CreateCertificate(rand.Reader, root, root, own.Public(), own)
	lethetest.Must(t, err)
	return write("ca.pem", "CERTIFICATE", bytes), func(name string) (string, string) {
		pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		lethetest.Must(t, err)
		bytes, err := x509.CreateCertificate(rand.Reader, form(name), root, pair.Public(), own)
		lethetest.Must(t, err)
		key, err := x509.MarshalPKCS8PrivateKey(pair)
		lethetest.Must(t, err)
		return write(name+".pem", "CERTIFICATE", bytes), write(name+".key", "PRIVATE KEY", key)
	}
}

// A server with an authority of its own takes the certificates of clients that it has signed, and another authority's once
// the files here have them.
func TestNATSCertificate(t *testing.T) {
	noNATS(t)
	mine := t.TempDir()
	set := func(c *sharetest.Cluster, dir string) (files [3]string) {
		ca, sign := authority(t, dir)
		cert, key := sign("server")
		c.Set(0, fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true, timeout: 10 }", cert, key, ca))
		files[0] = ca
		files[1], files[2] = sign("client")
		return files
	}
	c := sharetest.NATS(t, 1, false)
	use := func(files [3]string) {
		for k, name := range []string{"CA", "CERT", "KEY"} {
			path := filepath.Join(mine, name)
			lethetest.Write(t, path, lethetest.Read(t, files[k]))
			t.Setenv("NATS_"+name, path)
		}
	}
	use(set(c, t.TempDir()))
	var next [3]string
	url := strings.Replace(c.URL("home"), "nats://", "tls://", 1)
	natsGoesOn(t, url, func() { next = set(c, t.TempDir()) }, "certificate", func() { use(next) })
}

// A host reaches JetStream by way of a leaf node without one.
func TestNATSLeaf(t *testing.T) {
	noNATS(t)
	hub, leaf := sharetest.NATS(t, 1, false), sharetest.NATS(t, 1, false)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	lethetest.Must(t, err)
	at := listener.Addr().String()
	listener.Close()
	hub.Set(0, `jetstream { domain: hub }, leafnodes { listen: "`+at+`" }`)
	leaf.Set(0, `server_name: leaf, jetstream: disabled, leafnodes { reconnect: "1s", remotes: [{url: "nats://`+at+`"}] }`)
	first, second := sharetest.Open(t, leaf.URL("home")+"&domain=hub", time.Minute), sharetest.Open(t, hub.URL("home"), time.Minute)
	lethetest.Must(t, first.Create(t.Context(), "life", 1, []byte("one")))
	look := first.Watch(t.Context(), "life")
	<-look
	lethetest.Must(t, second.Create(t.Context(), "life", 2, []byte("two")))
	select {
	case <-look:
	case <-time.After(time.Minute):
		t.Error("nobody is told by way of a leaf node")
	}
	if err := first.Create(t.Context(), "life", 2, []byte("other")); !share.IsTaken(err) {
		t.Error(err)
	}
}
