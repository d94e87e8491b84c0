package openai

import (
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// Clients may send anything: it is refused, or it is one text.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`, `{"messages":[{"role":"system","content":[{"type":"text","text":"x"}]},null]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}},null]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"../x\n","file_data":"eA=="}}]}],"n":-1,"tool_choice":"auto"}`,
		`{"messages":[{"role":"assistant"},{"role":"user","content":null}],"modalities":[""],"audio":{}}`, `{"messages":{}}`, `{"messages":[[]]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/]\u202e"}}]}],"function_call":{}}`,
		strings.Repeat(`{"messages":[`, 3000),
	} {
		f.Add([]byte(body))
	}
	store, err := blobs.Open(f.TempDir())
	lethetest.Must(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, messages, err := read(httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(string(body))))
		if err != nil {
			return
		}
		said := talkOf(messages)
		if said.said > len(messages) || len(said.news) > said.said {
			t.Fatalf("%q says %+v", body, said)
		}
		_, _ = words(store, "ada", said.news)
	})
}
