package telegram

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

const aToken = "123456789:AAsecret-Part_of-it0123456789"

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		lethetest.Write(t, path, content)
		lethetest.Must(t, os.Chmod(path, mode))
		return path
	}
	link := filepath.Join(dir, "link")
	good := write("good", aToken+"\n", 0o600)
	lethetest.Must(t, os.Symlink(good, link))
	for _, c := range []struct{ name, path, wrong string }{
		{"a good one", good, ""},
		{"read-only, no newline, CRLF before", write("ro", "  "+aToken+"\r\n", 0o400), ""},
		{"readable by the group", write("group", aToken, 0o640), "mode 0640"},
		{"readable by all", write("all", aToken, 0o604), "mode 0604"},
		{"executable", write("x", aToken, 0o700), "mode 0700"},
		{"two lines", write("two", aToken+"\n"+aToken, 0o600), "one line"},
		{"no token", write("none", "secret-Part", 0o600), "one line"},
		{"empty", write("empty", "", 0o600), "one line"},
		{"long", write("long", aToken+strings.Repeat(" ", 300), 0o600), "one line"},
		{"a link", link, "not a regular file"},
		{"a directory", dir, "not a regular file"},
		{"missing", filepath.Join(dir, "gone"), "no such file"},
	} {
		got, err := ReadToken(c.path)
		switch {
		case c.wrong == "" && (err != nil || got != aToken):
			t.Errorf("%s: %q, %v", c.name, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		case err != nil && strings.Contains(err.Error(), "secret-Part"):
			t.Errorf("%s: the content is in %v", c.name, err)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Home: t.TempDir(), Token: aToken}
	for _, c := range []struct {
		wrong  string
		change func(*Config)
	}{
		{"there is none", func(c *Config) { c.Token = "" }},
		{"not of the form", func(c *Config) { c.Token = "secret-Part" }},
		{"not of the form", func(c *Config) { c.Token = aToken + "/../x" }},
		{"base_url", func(c *Config) { c.BaseURL = "api.telegram.org" }},
		{"base_url", func(c *Config) { c.BaseURL = "https://me:pass@host" }},
		{"room", func(c *Config) { c.Room = "../x" }},
		{"members", func(c *Config) { c.Members = "nobody" }},
		{`roles: "privat" is not an id`, func(c *Config) { c.Roles = map[string]string{"privat": "nurse"} }},
		{`"5.17" is not an id`, func(c *Config) { c.Roles = map[string]string{"5.17": "nurse"} }},
	} {
		bad := good
		c.change(&bad)
		err := Run(t.Context(), bad)
		if err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v, want %q", err, c.wrong)
		}
		if err != nil && strings.Contains(err.Error(), "secret-Part") {
			t.Errorf("the token is in %v", err)
		}
	}
	good.Roles = map[string]string{"private": "nurse", "7": "", "-1001.17": "clerk"}
	lethetest.Must(t, good.Check())
	for _, good := range []string{"5", "-1001", "-1001.17"} {
		lethetest.Must(t, CheckID(good))
	}
	for _, bad := range []string{"", "ada", "01", "-05", "+5", "5.17", "-5.1", "-5.x", "-5.017", "0"} {
		if CheckID(bad) == nil {
			t.Errorf("%q is taken for an id", bad)
		}
	}
	if !errors.Is(CheckToken("x"), ErrToken) {
		t.Error("a token that is none is not ErrToken")
	}
}

func TestClean(t *testing.T) {
	a := newAPI("https://x", aToken)
	in := errors.New("dial tcp: no route")
	at := &url.Error{Op: "Post", URL: "https://api.telegram.org/bot" + aToken + "/getMe", Err: in}
	if got := a.clean(fmt.Errorf("get: %w", at)); got != error(in) {
		t.Errorf("got %#v", got)
	}
	for _, text := range []string{
		"GET /bot" + aToken + "/getMe", url.QueryEscape(aToken), "secret " + strings.TrimPrefix(aToken, "123456789:"),
	} {
		if got := a.clean(errors.New(text)); strings.Contains(got.Error(), "secret-Part") || !strings.Contains(got.Error(), "<token>") {
			t.Errorf("%q became %v", text, got)
		}
	}
}

// What a proxy says in Telegram's place is no refusal, and may hold the token.
func TestDecode(t *testing.T) {
	t.Parallel()
	a := newAPI("https://x", aToken)
	var out bool
	for _, c := range []struct {
		status int
		body   string
		code   int // of a refusal; 0: another error; -1: none
	}{
		{200, `{"ok":true,"result":true}`, -1},
		{401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, 401},
		{401, `{"error":"login to the proxy"}`, 0},
		{401, "<html>" + aToken, 0},
		{200, "<html>" + aToken, 0},
		{200, `{"ok":true,"result":`, 0},
		{200, `{"ok":true}`, 0},
		{200, `null`, 0},
		// Cut in the middle of the token.
		{502, `{"ok":false,"error_code":502,"description":"` + strings.Repeat("x", 165) + ` /bot` + aToken + `/getMe"}`, 502},
		{502, `{"ok":false,"error_code":502,"description":"Bad Gateway for ` + aToken + `"}`, 502},
	} {
		err := a.decode(c.status, []byte(c.body), &out)
		var refusal *apiError
		switch {
		case (err == nil) != (c.code == -1), c.code > 0 && (!errors.As(err, &refusal) || refusal.Code != c.code),
			c.code == 0 && errors.As(err, &refusal):
			t.Errorf("%d %s: %v", c.status, c.body, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("the token is in %v", err)
		}
	}
}
