package serve_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"lethe/bridge/serve"
	"lethe/bridge/serve/backend"
	"lethe/internal/test/lethetest"
)

// Over TLS a browser gets a cookie that it sends nowhere else, and another process gets its link
// over the socket.
func TestTLS(t *testing.T) {
	own := httptest.NewTLSServer(nil) // for its certificate, which is example.com's
	own.Close()
	cert := own.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	lethetest.Must(t, err)
	c := config(t)
	lethetest.Write(t, filepath.Join(c.Home.Dir, "cert.pem"),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})))
	lethetest.Write(t, filepath.Join(c.Home.Dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	c.Settings = serve.Settings{Address: "0.0.0.0:0", Hosts: []string{"Example.com"}, Cert: "cert.pem", Key: "key.pem"}.In(c.Home.Dir)
	c.Parts = []serve.Part{func(mux *http.ServeMux, _ *backend.Backend) {
		mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.Host)) })
	}}
	lethetest.Must(t, c.Check())
	start(t, c)
	link, err := serve.Link(c)
	lethetest.Must(t, err)
	if !strings.HasPrefix(link, "https://Example.com:") {
		t.Errorf("the link is %s", link)
	}
	pool := x509.NewCertPool()
	pool.AddCert(own.Certificate())
	jar, err := cookiejar.New(nil)
	lethetest.Must(t, err)
	here := allHere()
	here.TLSClientConfig = &tls.Config{RootCAs: pool}
	browser := &http.Client{Jar: jar, Transport: here}
	defer browser.CloseIdleConnections()
	resp, err := browser.Get(link)
	lethetest.Must(t, err)
	resp.Body.Close()
	if cookies := resp.Cookies(); len(cookies) != 1 || cookies[0].Name != "__Host-lethe" || !cookies[0].Secure {
		t.Fatalf("the cookies are %v, status %s", cookies, resp.Status)
	}
	resp, err = browser.Get(link[:strings.Index(link, "/login")])
	lethetest.Must(t, err)
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 1 {
		t.Errorf("with the cookie: %s %s", resp.Status, resp.Proto)
	}
}
