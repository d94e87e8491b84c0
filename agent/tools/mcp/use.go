package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/tools/catalogue"
	"lethe/blobs"
)

// maxMessage bounds one message of a server, in bytes: an answer with all of its files.
const maxMessage = 10 << 20

// maxFiles bounds the files of one answer.
const maxFiles = 64

// use calls a tool.
func (s *server) use(ctx context.Context, life, tool string, args json.RawMessage) (answer catalogue.Answer, err error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil || object == nil {
		return answer, errors.New("args have to be a JSON object: TOOLS with the name shows what it has to hold")
	}
	do := func(l *live) (err error) {
		named := func(i catalogue.Item) bool { return i.Name == s.name+"/"+tool }
		items, _ := s.listed()
		at := slices.IndexFunc(items, named)
		switch {
		case at >= 0:
			if err = unknown(items[at], object); err == nil {
				answer, err = s.await(ctx, s.begun(ctx, l, life, tool, args))
			}
		case tool == catalogue.Answering:
			answer, err = s.answer(ctx, l, life, args)
		default:
			err = fmt.Errorf("%s has no %s (any more): TOOLS finds what it has", s.name, tool)
		}
		return err
	}
	err = s.with(ctx, do)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server was started anew, and did not see the call
		err = s.with(ctx, do)
	}
	return answer, err
}

// openers are the keys of a schema by which an object may have more members than properties lists, unless they are false.
var openers = []string{"additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "if", "$ref", "$dynamicRef"}

// unknown refuses arguments that a tool's schema does not list, where it lists all: many servers drop them without a word, and
// do something else than was meant.
func unknown(item catalogue.Item, given map[string]json.RawMessage) error {
	var schema map[string]json.RawMessage
	var listed map[string]any
	_, text, _ := strings.Cut(item.Text, " ")
	_ = json.Unmarshal([]byte(text), &schema) // what is no object, lists nothing
	_ = json.Unmarshal(schema["properties"], &listed)
	for _, key := range openers {
		if schema[key] != nil && string(schema[key]) != "false" {
			return nil
		}
	}
	names := slices.Sorted(maps.Keys(listed))
	for name := range given {
		if len(names) > 0 && !slices.Contains(names, name) {
			return fmt.Errorf("not called: %s takes no argument %.80q; its arguments are %.80q", item.Name, name, names)
		}
	}
	return nil
}

// failure tells an error that is about one call from a server that does not work, which is stopped.
func (s *server) failure(ctx, limit context.Context, l *live, err error) error {
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return addressed(refused)
	}
	if ctx.Err() != nil {
		return err
	}
	forgotten := errors.Is(err, sdk.ErrSessionMissing)
	if !forgotten && limit.Err() == nil && answers(ctx, l) {
		return err
	}
	s.stop(l, true)
	if forgotten {
		return err
	}
	if limit.Err() != nil {
		err = context.Cause(limit)
	}
	return &deadError{err}
}

// pingTime bounds the time in which a server that works answers a ping.
const pingTime = 2 * time.Second

// answers reports whether a server still answers.
func answers(ctx context.Context, l *live) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	err := l.session.Ping(ctx, nil)
	_, refused := errors.AsType[*jsonrpc.Error](err)
	return err == nil || refused
}

// addressed adds the addresses that people have to open before a call can succeed. They stand in an error's data alone.
func addressed(refused *jsonrpc.Error) error {
	var data struct {
		Elicitations []struct{ URL, Message string }
	}
	if refused.Code != sdk.CodeURLElicitationRequired || json.Unmarshal(refused.Data, &data) != nil {
		return refused
	}
	text := refused.Error()
	for _, e := range data.Elicitations {
		text += "\nHave people open this address, then call again: " + strings.TrimSpace(e.URL+" "+e.Message)
	}
	return errors.New(text)
}

// answerOf sorts what a tool returned.
func answerOf(result *sdk.CallToolResult) catalogue.Answer {
	var texts []string
	a := catalogue.Answer{Err: result.IsError}
	left := 0
	file := func(name, media string, data []byte) {
		if len(a.Files) == maxFiles {
			left++
			return
		}
		a.Files = append(a.Files, catalogue.File{Name: blobs.Gist(name), Type: blobs.Gist(media), Data: data})
	}
	for _, content := range result.Content {
		switch c := content.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
		case *sdk.ImageContent:
			file("", c.MIMEType, c.Data)
		case *sdk.AudioContent:
			file("", c.MIMEType, c.Data)
		case *sdk.EmbeddedResource:
			if c.Resource == nil {
				continue // the server says that there is one, and sends none
			}
			file(path.Base(c.Resource.URI), c.Resource.MIMEType, slices.Concat([]byte(c.Resource.Text), c.Resource.Blob))
		case *sdk.ResourceLink:
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s: %s", c.URI, c.Name, c.Description)))
		}
	}
	if data := structured(result.StructuredContent); data != "" && !repeats(texts, data) {
		texts = append(texts, data)
	}
	if left > 0 {
		texts = append(texts, fmt.Sprintf("%d more files were not kept: an answer may have %d", left, maxFiles))
	}
	a.Text = []byte(strings.Join(texts, "\n"))
	return a
}

// dial returns what connects to the server's address, until ctx ends.
func (s *server) dial(ctx context.Context) sdk.Transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	context.AfterFunc(ctx, base.CloseIdleConnections)
	client := &http.Client{Transport: &carrier{s.Headers, base}, CheckRedirect: sameHost}
	t := &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}
	if s.Headers["Authorization"] == "" {
		t.OAuthHandler = s
	}
	return t
}

// sameHost refuses to be redirected to another host.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	isSame := r.URL.Scheme == first.Scheme && r.URL.Host == first.Host
	if !isSame || len(via) > 5 {
		return fmt.Errorf("refuse its redirect to %s: if that is the server, name it in config.toml", r.URL.Host)
	}
	return nil
}

// carrier adds headers to requests, and bounds answers.
type carrier struct {
	headers map[string]string
	base    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for key, value := range c.headers {
		r.Header.Set(key, value)
	}
	answer, err := c.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxMessage)
	}
	answer.Body = newLines(answer.Body, readable)
	return answer, nil
}
