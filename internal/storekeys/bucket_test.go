package storekeys

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
)

// giver hands out keys that last for a moment, as a machine with a role, a container and an authority do. Each has a number.
type giver struct {
	*httptest.Server
	lasts time.Duration
	given atomic.Int64
	away  atomic.Bool
	asked func(r *http.Request) error
}

func newGiver(t *testing.T, lasts time.Duration) *giver {
	g := &giver{lasts: lasts, asked: func(*http.Request) error { return nil }}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *giver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := g.asked(r); err != nil || g.away.Load() {
		http.Error(w, fmt.Sprint(err), http.StatusForbidden)
		return
	}
	const roles = "/latest/meta-data/iam/security-credentials/"
	end := time.Now().Add(g.lasts).UTC()
	switch r.URL.Path {
	case "/latest/api/token":
		fmt.Fprint(w, "token-of-the-machine")
	case roles:
		fmt.Fprintln(w, "role")
	case roles + "role", "/container":
		n := g.given.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"Code": "Success", "AccessKeyId": fmt.Sprint("id", n),
			"SecretAccessKey": fmt.Sprint("a-secret-of-a-role-", n), "Token": fmt.Sprint("a-token-of-a-role-", n), "Expiration": end})
	case "/":
		n := g.given.Add(1)
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
			<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>id%d</AccessKeyId>
			<SecretAccessKey>a-secret-of-a-role-%d</SecretAccessKey><SessionToken>a-token-of-a-role-%d</SessionToken>
			<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
			n, n, n, end.Format(time.RFC3339Nano))
	}
}

// nowhere has no place give keys.
func nowhere(t *testing.T) (home string) {
	home = t.TempDir()
	t.Setenv("HOME", home)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	return home
}

// Keys of each kind of role are asked for, and others before they expire.
func TestRoles(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, g *giver){
		"machine": func(t *testing.T, g *giver) {
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", g.URL)
			g.asked = func(r *http.Request) error {
				if r.Method != http.MethodPut && r.Header.Get("X-aws-ec2-metadata-token") != "token-of-the-machine" {
					return fmt.Errorf("no token")
				}
				return nil
			}
		},
		"container": func(t *testing.T, g *giver) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", g.URL+"/container")
			file := filepath.Join(t.TempDir(), "token")
			lethetest.Write(t, file, "token-of-the-pod")
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)
			g.asked = func(r *http.Request) error {
				if r.Header.Get("Authorization") != "token-of-the-pod" {
					return fmt.Errorf("no token")
				}
				return nil
			}
		},
		"web identity": func(t *testing.T, g *giver) {
			t.Setenv("AWS_ENDPOINT_URL_STS", g.URL)
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/lethe")
			file := filepath.Join(t.TempDir(), "token")
			lethetest.Write(t, file, "jwt")
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
			g.asked = func(r *http.Request) error {
				if r.FormValue("WebIdentityToken") != "jwt" || r.FormValue("RoleArn") == "" {
					return fmt.Errorf("%v", r.Form)
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			nowhere(t)
			g := newGiver(t, 3*time.Second)
			set(t, g)
			keys, err := Bucket()
			lethetest.Must(t, err)
			first, err := keys.GetWithContext(nil)
			lethetest.Must(t, err)
			if first.AccessKeyID != "id1" || first.SessionToken != "a-token-of-a-role-1" {
				t.Fatalf("%+v", first)
			}
			if again, err := keys.GetWithContext(nil); err != nil || again != first {
				t.Errorf("asked again: %+v, %v", again, err)
			}
			lethetest.Eventually(t, "others before they expire", func() bool {
				now, err := keys.GetWithContext(nil)
				return err == nil && now.AccessKeyID == "id2" && time.Now().Before(first.Expiration)
			})
			keys.Expire() // they were refused
			if now, err := keys.GetWithContext(nil); err != nil || now.AccessKeyID != "id3" {
				t.Errorf("after they were refused: %+v, %v", now, err)
			}
			if shown := secret.Text("a-secret-of-a-role-3 a-token-of-a-role-3"); strings.Contains(shown, "of-a-role") {
				t.Errorf("shown: %q", shown)
			}
			g.away.Store(true)
			keys.Expire()
			if _, err := keys.GetWithContext(nil); err == nil {
				t.Error("keys of nobody")
			}
			g.away.Store(false)
			if now, err := keys.GetWithContext(nil); err != nil || now.AccessKeyID != "id4" {
				t.Errorf("when it is back: %+v, %v", now, err)
			}
		})
	}
}

// The environment is before a profile, and that before a role; a profile that is named and wrong is told.
func TestPlaces(t *testing.T) {
	home := nowhere(t)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", newGiver(t, time.Hour).URL)
	id := func() string {
		t.Helper()
		keys, err := Bucket()
		if err != nil {
			return err.Error()
		}
		held, err := keys.GetWithContext(nil)
		lethetest.Must(t, err)
		return held.AccessKeyID
	}
	lethetest.Equal(t, "role", id(), "id1")
	lethetest.Must(t, os.Mkdir(filepath.Join(home, ".aws"), 0o700))
	lethetest.Write(t, filepath.Join(home, ".aws", "credentials"),
		"[default]\naws_access_key_id = file\naws_secret_access_key = a-secret-0\n[empty]\nregion = x\n"+
			"[program]\ncredential_process = sh "+filepath.Join(home, "tell.sh")+"\n")
	lethetest.Write(t, filepath.Join(home, "tell.sh"), `echo '{"Version": 1, "AccessKeyId": "told", "SecretAccessKey": "a-secret-1"}'`)
	lethetest.Equal(t, "profile", id(), "file")
	t.Setenv("AWS_PROFILE", "program")
	lethetest.Equal(t, "program", id(), "told")
	t.Setenv("AWS_PROFILE", "none")
	lethetest.Words(t, id(), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", "none")
	secret.Keep("AWS_ACCESS_KEY_ID", "kept")
	defer secret.Keep("AWS_ACCESS_KEY_ID", "")
	lethetest.Equal(t, "keys.env", id(), "kept")
	t.Setenv("AWS_ACCESS_KEY_ID", "set")
	lethetest.Equal(t, "environment", id(), "set")
}
