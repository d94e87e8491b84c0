// Package oauthtest is a server at an address that people have to log in to, with the authority that lets them in.
package oauthtest

import (
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
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		page := server.Authorize
		if page == "" {
			page = server.URL + "/authorize"
		}
		answer(w, 200, map[string]any{
			"issuer": server.URL, "authorization_endpoint": page, "token_endpoint": server.URL + "/token",
			"registration_endpoint": server.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var client map[string]any
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "lethe-client"
		answer(w, 201, client)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		back := url.Values{"code": {"code of " + q.Get("client_id")}, "state": {q.Get("state")}}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		right := false
		switch r.FormValue("grant_type") {
		case "authorization_code":
			right = r.FormValue("code") == "code of lethe-client" && r.FormValue("code_verifier") != ""
		case "refresh_token":
			newest := Refresh(server.Issued.Load())
			right = r.FormValue("refresh_token") == newest && !server.Ended.Load()
		}
		if !right {
			answer(w, 400, map[string]any{"error": "invalid_grant", "error_description": "not " + r.FormValue("refresh_token")})
			return
		}
		n := server.Issued.Add(1)
		answer(w, 200, map[string]any{
			"access_token": Token(n), "token_type": "Bearer", "expires_in": server.Lasts.Load(),
			"refresh_token": Refresh(n),
		})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		n := server.Issued.Load()
		if n <= server.Revoked.Load() || r.Header.Get("Authorization") != "Bearer "+Token(n) {
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
