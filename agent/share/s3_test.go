package share

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// The signatures are those of AWS's page "Signature Calculations for the Authorization Header".
func TestSigned(t *testing.T) {
	keys := awsKeys{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	for query, want := range map[string]string{
		"lifecycle=":          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		"max-keys=2&prefix=J": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	} {
		r := httptest.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/?"+query, nil)
		keys.sign(r, nil, "us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
		lethetest.Words(t, r.Header.Get("Authorization"), "Signature="+want, keys.AccessKeyID+"/20130524/us-east-1/s3/aws4_request")
	}
}

// A request carries the session of its keys, and a path that is escaped as it was signed.
func TestAskedInASession(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-tests")
	t.Setenv("AWS_SESSION_TOKEN", "a-session-of-tests")
	var asked *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	defer server.Close()
	e, err := openBucket(strings.TrimPrefix(server.URL, "http://"), "bucket/my home", false, "eu-central-1")
	lethetest.Must(t, err)
	_, err = e.get(t.Context(), "lives/a", 1)
	lethetest.Words(t, err.Error(), "301 Moved Permanently", "eu-west-1")
	if got, want := asked.URL.EscapedPath(), "/bucket/my%20home/lives%3Da/999999/998"; got != want {
		t.Errorf("it asks for %s, want %s", got, want)
	}
	lethetest.Words(t, asked.Header.Get("Authorization"), "/eu-central-1/s3/", ";x-amz-security-token,")
	if got := asked.Header.Get("X-Amz-Security-Token"); got != "a-session-of-tests" {
		t.Errorf("the session is %q", got)
	}
}

func TestRegions(t *testing.T) {
	for endpoint, want := range map[string]string{
		"s3.eu-central-1.amazonaws.com": "eu-central-1", "s3-eu-west-1.amazonaws.com": "eu-west-1", "s3.amazonaws.com": "us-east-1",
		"s3.dualstack.us-gov-west-1.amazonaws.com": "us-gov-west-1", "s3.cn-north-1.amazonaws.com.cn": "cn-north-1",
		"bucket.vpce-1a2b-3c4d.s3.us-east-2.vpce.amazonaws.com": "us-east-2", "x.r2.cloudflarestorage.com": "us-east-1",
	} {
		if got := regionOf(endpoint); got != want {
			t.Errorf("%s lies in %s, want %s", endpoint, got, want)
		}
	}
}

// Keys come from a profile, and from a program, which is asked again before they expire.
func TestKeysOfAProfile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, "")
	}
	bin := filepath.Join(home, "helper")
	lethetest.Must(t, os.MkdirAll(filepath.Join(home, ".aws"), 0o700))
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		lethetest.Must(t, os.WriteFile(filepath.Join(home, name), []byte(text), mode))
	}
	write(".aws/credentials", "[default]\naws_access_key_id = one # mine\naws_secret_access_key=secret-one\n[half]\naws_access_key_id=h\n", 0o600)
	write(".aws/config", "[profile asks]\ncredential_process = "+bin+" --now\n[profile signs]\nsso_role_name = reader\n"+
		"[profile one]\naws_session_token = t\n", 0o600)
	write("helper", `#!/bin/sh
echo . >> "$HOME/asked"
echo "{\"Version\":1,\"AccessKeyId\":\"$1\",\"SecretAccessKey\":\"s\",\"Expiration\":\"2020-01-01T00:00:00Z\"}"
`, 0o700)
	lethetest.Must(t, os.Symlink(bin, filepath.Join(home, "aws")))
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	for profile, want := range map[string]string{"": "one", "asks": "--now", "signs": "configure"} {
		t.Setenv("AWS_PROFILE", profile)
		if k, err := findKeys(); err != nil || k.AccessKeyID != want || k.SecretAccessKey == "" {
			t.Errorf("profile %q: %q, %v", profile, k.AccessKeyID, err)
		}
	}
	for _, profile := range []string{"half", "none"} {
		t.Setenv("AWS_PROFILE", profile)
		if k, err := findKeys(); err == nil {
			t.Errorf("profile %q has %q", profile, k.AccessKeyID)
		}
	}
	t.Setenv("AWS_PROFILE", "asks")
	old, err := findKeys()
	lethetest.Must(t, err)
	for _, expires := range []time.Time{{}, time.Now().Add(time.Hour), old.Expiration} {
		lethetest.Must(t, os.Remove(filepath.Join(home, "asked")))
		write("asked", "", 0o600)
		c := client{keys: awsKeys{AccessKeyID: "held", SecretAccessKey: "s", Expiration: expires}}
		k, err := c.current()
		lethetest.Must(t, err)
		text, _ := os.ReadFile(filepath.Join(home, "asked"))
		if again := k.AccessKeyID == "--now"; again != (expires == old.Expiration) || again != (len(text) > 0) {
			t.Errorf("keys that expire at %s: %q", expires, k.AccessKeyID)
		}
	}
}
