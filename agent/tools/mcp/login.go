package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"lethe/agent/tools/web"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

// redirect is the address at which the browser ends after a login, with the code. Nothing listens there.
const redirect = "http://localhost:48217/done"

// authority returns a client for authorities, which give tokens. The server names their addresses, so all of them have to
// be public, or the server's own: one that runs on this machine may name others here.
func (s *server) authority() *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second, CheckRedirect: sameHost,
		Transport: web.Settings{Allow: s.ownAddresses()}.Transport(),
	}
}

// ownAddresses returns the addresses of the server's host.
func (s *server) ownAddresses() []string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return []string{ip.Unmap().String()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	found, _ := net.DefaultResolver.LookupHost(ctx, u.Hostname()) // where there is none, nothing can be asked either
	return found
}

// grant is the permission that people gave Lethe at an address: the file home/mcp/NAME.token.json.
type grant struct {
	URL string `json:"url"`
	*oauth2.Config
	*oauth2.Token
}

// login has people allow Lethe to use the server, and keeps the token. paste shows them the address to open, and
// returns the one that their browser ends at, or the code in it.
func (s *server) login(ctx context.Context, paste func(address string) (answer string)) error {
	client := s.authority()
	handler, _ := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{ // it lacks nothing: cannot fail
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Lethe", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: client,
		AuthorizationCodeFetcher: func(_ context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if !safe(a.URL) {
				return nil, fmt.Errorf("the address to open is neither https nor on this machine: %s", a.URL)
			}
			asked, _ := url.Parse(a.URL) // it is safe
			got := asked.Query()
			state, answer := got.Get("state"), strings.TrimSpace(paste(a.URL))
			if _, query, whole := strings.Cut(answer, "?"); whole {
				got, _ = url.ParseQuery(query) // what cannot be read is missing
			} else {
				got.Set("code", answer)
			}
			if got.Get("code") == "" || got.Get("state") != state {
				return nil, fmt.Errorf("what was pasted does not answer that address (%s): run it again", got.Get("error"))
			}
			return &auth.AuthorizationResult{Code: got.Get("code"), State: state, Iss: got.Get("iss")}, nil
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			return oauth2.StaticTokenSource(t), s.write(".token.json", grant{s.URL, c, t})
		},
	})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	answer, err := client.Post(s.URL, "application/json", strings.NewReader(ping))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("it asks for no login: it answered %s", answer.Status)
	}
	return handler.Authorize(ctx, answer.Request, answer)
}

// TokenSource implements auth.OAuthHandler.
func (s *server) TokenSource(context.Context) (oauth2.TokenSource, error) {
	return oauth2.StaticTokenSource(s.token("")), nil
}

// Authorize implements auth.OAuthHandler: a token that is refused before its time is refreshed.
func (s *server) Authorize(_ context.Context, r *http.Request, answer *http.Response) error {
	answer.Body.Close()
	if answer.StatusCode == http.StatusForbidden {
		return nil // no login changes that: the server is asked again, and its answer told
	}
	if s.token(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) == nil {
		return fmt.Errorf("%s: people have to run: lethe mcp login %s", answer.Status, s.name)
	}
	return nil
}

// grant reads what people allowed at the server's address. The file is read each time: they may have done so since, and
// another process may have refreshed the token.
func (s *server) grant() (g grant) {
	data, err := durable.ReadWhole(s.path(".token.json"), 1<<20)
	if err != nil || json.Unmarshal(data, &g) != nil {
		return grant{}
	}
	whole := g.Config != nil && g.Token != nil
	if g.URL != s.URL || !whole {
		return grant{}
	}
	secret.Add(g.ClientSecret, g.AccessToken, g.RefreshToken)
	return g
}

// token returns the token, and refreshes it if it has expired or was refused. It returns nil where people have to log
// in. Most authorities let a token be refreshed once, so one process does at a time.
func (s *server) token(refused string) *oauth2.Token {
	for locked := false; ; locked = true {
		g := s.grant()
		if g.Config == nil {
			return nil
		}
		if g.Valid() && g.AccessToken != refused {
			return g.Token
		}
		if locked {
			return s.refresh(g)
		}
		lock := flock.New(filepath.Dir(s.path("")), flock.SetFlag(os.O_RDONLY))
		if err := lock.Lock(); err != nil {
			s.log.Warn("a token cannot be refreshed", "error", err)
			return nil
		}
		defer lock.Close()
	}
}

func (s *server) refresh(g grant) *oauth2.Token {
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, s.authority())
	fresh, err := g.TokenSource(ctx, &oauth2.Token{RefreshToken: g.RefreshToken}).Token()
	if err == nil {
		g.Token = fresh
		secret.Add(g.AccessToken, g.RefreshToken)
		err = s.write(".token.json", g)
	}
	if err != nil {
		s.log.Warn("a token cannot be refreshed", "error", err)
	}
	return fresh
}
