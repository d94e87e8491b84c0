// Package oauthtest is a server at an address that people have to log in to, with the authority that lets them in.
package oauthtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// Server guards /mcp. A test may change all of it but the first member.
type Server struct {
	*httptest.Server
	Authorize string       // where people are sent; "": to the authority's own page
	Lasts     atomic.Int64 // seconds of a token
	Issued    atomic.Int64 // how many tokens were given
	Revoked   atomic.Int64 // tokens up to this one are refused before their time
	Ended     atomic.Bool  // tokens are no longer refreshed
}

// Token is the n-th token; it looks like a key, so that it is struck out wherever it stands.
func Token(n int64) string { return fmt.Sprintf("access-token-number-%04d", n) }

// Refresh returns the token that refreshes the n-th.
func Refresh(n int64) string { return fmt.Sprintf("refresh-token-number-%04d", n) }

// New starts a server in front of the tools of a handler, until the test ends.
func New(t *testing.T, tools http.Handler) *Server {
	server := &Server{}
	server.Lasts.Store(3600)
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", server.describe)
	mux.HandleFunc("/.well-known/oauth-authorization-server", server.describeAuthority)
	mux.HandleFunc("/register", register)
	mux.HandleFunc("/authorize", authorize)
	mux.HandleFunc("/token", server.token)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		newest := server.Issued.Load()
		if newest <= server.Revoked.Load() || r.Header.Get("Authorization") != "Bearer "+Token(newest) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	server.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

func answer(w http.ResponseWriter, status int, value map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, 200, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
}

func (s *Server) describeAuthority(w http.ResponseWriter, _ *http.Request) {
	answer(w, 200, map[string]any{
		"issuer": s.URL, "token_endpoint": s.URL + "/token",
		"authorization_endpoint": cmp.Or(s.Authorize, s.URL+"/authorize"),
		"registration_endpoint":  s.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
	})
}

func register(w http.ResponseWriter, r *http.Request) {
	var client map[string]any
	_ = json.NewDecoder(r.Body).Decode(&client)
	client["client_id"] = "lethe-client"
	answer(w, 201, client)
}

func authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	back := url.Values{"code": {"code of " + asked.Get("client_id")}, "state": {asked.Get("state")}}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	right := false
	switch r.FormValue("grant_type") {
	case "authorization_code":
		right = r.FormValue("code") == "code of lethe-client" && r.FormValue("code_verifier") != ""
	case "refresh_token":
		newest := Refresh(s.Issued.Load())
		right = r.FormValue("refresh_token") == newest && !s.Ended.Load()
	}
	if !right {
		answer(w, 400, map[string]any{"error": "invalid_grant", "error_description": "not " + r.FormValue("refresh_token")})
		return
	}
	n := s.Issued.Add(1)
	answer(w, 200, map[string]any{
		"access_token": Token(n), "token_type": "Bearer", "expires_in": s.Lasts.Load(), "refresh_token": Refresh(n),
	})
}

// Browse opens an address as a browser does, and returns the address that it is sent to, without opening that.
func Browse(t *testing.T, address string) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return r.Header.Get("Location")
}
