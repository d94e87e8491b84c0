package mcp

import (
	"encoding/json"
	"log/slog"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/tools/catalogue"
	"lethe/internal/test/lethetest"
)

// What stands in a home for servers, and what other programs have of theirs, may be of any bytes.
func FuzzFiles(f *testing.F) {
	home := f.TempDir()
	far := Server{URL: "https://far.example/mcp"}
	known := New(Config{Servers: map[string]Server{"far": far}, Home: home, Log: slog.New(slog.DiscardHandler)})
	s := known.called("far")
	items := []catalogue.Item{{Kind: catalogue.Tool, Name: "far/echo", About: "does echo", Text: "args: {}"}}
	whole, err := json.Marshal(listing{Tools: items, Digest: s.digest(items)})
	lethetest.Must(f, err)
	const grant = `{"url":"https://far.example/mcp","ClientID":"c","access_token":"a","expiry":"9999-12-31T23:59:59Z"}`
	lethetest.FuzzReaders(f, home, lethetest.Reader{
		Name: "a listing", File: "mcp/far.json", Seeds: []string{string(whole), `{"tools":[{}],"digest":"` + s.digest(nil) + `"}`},
		Read: func(testing.TB) error {
			fresh := &server{Server: far, name: "far", of: known, log: s.log}
			fresh.load()
			fresh.listed()
			return nil
		},
	}, lethetest.Reader{
		Name: "a token", File: "mcp/far.token.json",
		Seeds: []string{grant, `{"url":"https://far.example/mcp","ClientID":"c"}`, `{"url":"https://far.example/mcp","access_token":"a"}`},
		Read: func(testing.TB) error {
			g := s.grant()
			_ = g.Config != nil && g.Valid()
			return nil
		},
	}, lethetest.Reader{
		Name: "servers of another program", File: "mcp.json",
		Seeds: []string{
			`{"mcpServers":{"a b":{"command":"x","args":[""],"env":{"A":"${env:B}"}},"a-b":{"url":"https://a.example"},"":{}}}`,
			`{"servers":{"x":{"url":"https://x.example","headers":{"Authorization":"Bearer ${T}"},"disabled":true}}}`, `{"servers":{"x":null}}`,
		},
		Read: func(t testing.TB) error {
			servers, _, err := Parse([]byte(lethetest.Read(t, home+"/mcp.json")))
			for name, one := range servers {
				if err := one.Check(name, false); err != nil {
					t.Errorf("%s is taken over: %v", name, err)
				}
				one.At()
			}
			return err
		},
	})
}

// A server may answer anything.
func FuzzAnswers(f *testing.F) {
	for _, answer := range []string{
		`{"content":[{"type":"text","text":"x"},{"type":"image","data":"eA==","mimeType":"a\nb"},{"type":"resource_link","uri":"x"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"file:///../x","text":"x","blob":"eA=="}}]}`, `{"content":[{"type":"resource"}]}`,
		`{"content":[null],"isError":true}`, `{"content":null,"structuredContent":[1]}`, `{"content":[{"type":"audio"}]}`, `{}`,
		`{"tools":[{"name":"echo","description":"x","inputSchema":{"type":"object","$schema":"x"}}]}`, `{"tools":[null]}`, `{"tools":[{}]}`,
		`{"tools":[{"name":"echo","inputSchema":[]},{"name":"a b"},{"name":"echo","inputSchema":null}]}`,
	} {
		f.Add([]byte(answer))
	}
	s := &server{name: "far"}
	f.Fuzz(func(t *testing.T, answer []byte) {
		var result sdk.CallToolResult
		if json.Unmarshal(answer, &result) == nil {
			answerOf(&result)
		}
		var page sdk.ListToolsResult
		if json.Unmarshal(answer, &page) != nil {
			return
		}
		for _, tool := range page.Tools {
			if item, err := s.item(tool); err == nil && (item.Name == "far/" || len(item.Text) > maxTool+10) {
				t.Errorf("%q is the tool %+v", answer, item)
			}
		}
	})
}
