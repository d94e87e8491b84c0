package botapi

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// raw makes a request of any form.
func (f *fixture) raw(verb, path, kind, body string) reply {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), verb, f.url+"/bot"+f.Token()+"/"+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	a, err := f.do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

const urlencoded = "application/x-www-form-urlencoded"

func multi(t *testing.T, parts ...string) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		if err := m.WriteField(parts[i], parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return m.FormDataContentType(), b.String()
}

// The same call in every form that the real server takes.
func TestForms(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	f.Say(dm, ada, "x")
	const quoting = `{"message_id":1}`
	kind, body := multi(t, "chat_id", "5000000001", "text", "hi ü", "reply_parameters", quoting)
	for name, a := range map[string]reply{
		"multipart":  f.raw("POST", "sendMessage", kind, body),
		"json":       f.raw("POST", "sendMessage", "application/json", `{"chat_id":5000000001,"text":"hi \u00fc","reply_parameters":`+quoting+`,"message_thread_id":null,"parse_mode":null}`),
		"json texts": f.raw("POST", "sendMessage", "application/json; charset=utf-8", `{"chat_id":"5000000001","text":"hi ü","reply_parameters":"{\"message_id\":1}"}`),
		"urlencoded": f.raw("POST", "sendMessage", urlencoded, "chat_id=5000000001&text=hi+%C3%BC&reply_parameters=%7B%22message_id%22%3A1%7D"),
		"query":      f.raw("GET", "sendMessage?chat_id=5000000001&text=hi+%C3%BC&reply_parameters=%7B%22message_id%22%3A1%7D", "", ""),
		"both":       f.raw("POST", "sendMessage?chat_id=5000000001", urlencoded, "text=hi+%C3%BC&reply_parameters=%7B%22message_id%22%3A1%7D"),
	} {
		if !a.OK {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
	for _, m := range f.Sent(dm) {
		if m.Text != "hi ü" || m.ReplyToMessage == nil || m.ReplyToMessage.ID != 1 {
			t.Errorf("%+v", m)
		}
	}
	if len(f.Sent(dm)) != 6 {
		t.Errorf("%d messages", len(f.Sent(dm)))
	}
	for _, c := range f.Calls() {
		if c.Params["chat_id"] != "5000000001" || c.Params["text"] != "hi ü" || c.Params["reply_parameters"] != quoting {
			t.Errorf("recorded %+v", c)
		}
	}
	f.well()
}

func TestMalformed(t *testing.T) {
	f := start(t, Options{})
	dm := f.Private(f.User("Ada", "ada"))
	kind, body := multi(t, "chat_id", "5000000001", "text", "x")
	_, twice := multi(t, "text", "x", "text", "y")
	for i, c := range []struct {
		verb, path, kind, body string
		code                   int
		want                   string
	}{
		{"PUT", "sendMessage", urlencoded, "chat_id=5000000001&text=x", 405, "Method Not Allowed"},
		{"POST", "sendMessage", "", "chat_id=5000000001&text=x", 400, "Bad Request: can't parse Content-Type"},
		{"POST", "sendMessage", "text/plain", "chat_id=5000000001&text=x", 400, "Bad Request: unsupported Content-Type text/plain"},
		{"POST", "sendMessage", urlencoded, "chat_id=5000000001&text=%zz", 400, "Bad Request: can't parse the form"},
		{"POST", "sendMessage?text=x", urlencoded, "chat_id=5000000001&text=x", 400, `Bad Request: parameter "text" is there twice`},
		{"POST", "sendMessage", urlencoded, "chat_id=5000000001&text=%ff", 400, "Bad Request: strings must be encoded in UTF-8"},
		{"POST", "sendMessage", "application/json", "{\"chat_id\":5000000001,\"text\":\"\xff\"}", 400, "Bad Request: strings must be encoded in UTF-8"},
		{"POST", "sendMessage", "application/json", `{"chat_id":5000000001,"text":"x"`, 400, "Bad Request: can't parse the JSON object"},
		{"POST", "sendMessage", "application/json", `[1]`, 400, "Bad Request: can't parse the JSON object"},
		{"POST", "sendMessage", kind, body[:len(body)-20], 400, "Bad Request: can't parse the form"},
		{"POST", "sendMessage", kind, twice, 400, "Bad Request: can't parse the form"}, // another boundary
		{"POST", "sendMessage", urlencoded, "chat_id=5000000001&text=x&entities=[]]", 400, `Bad Request: can't parse parameter "entities"`},
		{"POST", "sendMessage", urlencoded, "chat_id=5000000001&text=x&disable_notification=yes", 400, `Bad Request: can't parse parameter "disable_notification"`},
		{"POST", "sendMessage", urlencoded, "chat_id=5000000001&text=x&message_thread_id=", 400, `Bad Request: can't parse parameter "message_thread_id"`},
		{"GET", "getUpdates?offset=1.5", "", "", 400, `Bad Request: can't parse parameter "offset"`},
		{"GET", "getMe?x=1", "", "", 400, "Bad Request: unknown parameter x"},
	} {
		a := f.raw(c.verb, c.path, c.kind, c.body)
		if a.HTTP != c.code || a.OK || !strings.HasPrefix(a.Description, c.want) {
			t.Errorf("case %d: got %d %s, want %d %q", i, a.HTTP, a.Body, c.code, c.want)
		}
	}
	if got := f.Texts(dm); got != nil {
		t.Errorf("sent: %q", got)
	}
}

// A file that nothing refers to is an unknown parameter.
func TestStrayUpload(t *testing.T) {
	f := start(t, Options{})
	f.Private(f.User("Ada", "ada"))
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	_ = m.WriteField("chat_id", "5000000001")
	_ = m.WriteField("text", "x")
	w, _ := m.CreateFormFile("photo", "a.jpg")
	fmt.Fprint(w, "jpeg")
	_ = m.Close()
	f.refused(f.raw("POST", "sendMessage", m.FormDataContentType(), b.String()), 400, "Bad Request: unknown parameter photo")
	if c := f.Calls(); c[0].Params["photo"] != "a.jpg" {
		t.Errorf("%+v", c)
	}
}

func TestTooLarge(t *testing.T) {
	f := start(t, Options{})
	f.refused(f.raw("POST", "sendMessage", urlencoded, "text="+strings.Repeat("x", maxBody)), 413, "Request Entity Too Large")
}

func TestUnknown(t *testing.T) {
	form := form{texts: map[string]string{"text": "", "z": "", "a": "", "media": `[{"media":"attach://one"}]`}, files: map[string]upload{"one": {}, "two": {}}}
	if got := form.unknown(methods["sendmessage"].params); !slices.Equal(got, []string{"a", "media", "two", "z"}) {
		t.Error(got)
	}
}
