package llm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"lethe/internal/test/lethetest"
)

// Streams that are whole, in every dialect.
func TestStreamsThatAreAccepted(t *testing.T) {
	hello := events(delta(`{"content":"hel"}`), delta(`{"content":"lo"}`), stop, done)
	call := func(id, args string) ToolCall { return ToolCall{ID: id, Name: "A", Arguments: args} }
	for name, test := range map[string]struct {
		body string
		want Reply
	}{
		"plain":              {hello, Reply{Text: "hello"}},
		"no space":           {strings.ReplaceAll(hello, "data: ", "data:"), Reply{Text: "hello"}},
		"no last newline":    {strings.TrimRight(hello, "\n"), Reply{Text: "hello"}},
		"crlf":               {strings.ReplaceAll(hello, "\n", "\r\n"), Reply{Text: "hello"}},
		"keep-alives":        {": keep-alive\n\n\n: keep-alive\n" + hello, Reply{Text: "hello"}},
		"other fields":       {"retry: 3\nid: 1\nevent: message\n" + hello, Reply{Text: "hello"}},
		"stray line":         {"data: {}\nwhat is this\n" + hello, Reply{Text: "hello"}},
		"empty data":         {"data:\n\ndata: \n\n" + hello, Reply{Text: "hello"}},
		"null event":         {"data: null\n\n" + hello, Reply{Text: "hello"}},
		"ping event":         {"event: ping\ndata: {\"type\":\"ping\"}\n\n" + hello, Reply{Text: "hello"}},
		"no done":            {events(delta(`{"content":"hello"}`), stop), Reply{Text: "hello"}},
		"half an event last": {events(delta(`{"content":"hello"}`), stop) + `data: {"choi`, Reply{Text: "hello"}},
		"error after finish": {events(delta(`{"content":"hello"}`), stop, `{"error":{"message":"too late"}}`), Reply{Text: "hello"}},
		"usage and no done": {events(delta(`{"content":"x"}`), stop, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`),
			Reply{Text: "x", Usage: Usage{Input: 9, Output: 2}}},
		"after done": {hello + events(`{"error":{"message":"too late"}}`), Reply{Text: "hello"}},
		"error null": {events(`{"error":null,"choices":[{"index":0,"delta":{"content":"hello"}}]}`, stop, done), Reply{Text: "hello"}},
		"another choice": {events(`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`,
			delta(`{"content":"hello"}`), stop, done), Reply{Text: "hello"}},
		"reasoning": {events(delta(`{"reasoning":"r","content":"hello"}`), stop, done), Reply{Text: "hello", Reasoning: "r"}},
		"parts": {events(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},`+
			`{"type":"text","text":"hello"}]}`), stop, done), Reply{Text: "hello", Reasoning: "r"}},
		"reasoning alone": {events(delta(`{"reasoning_content":"silence"}`), stop, done), Reply{Reasoning: "silence"}},
		"another word for the end": {events(delta(`{"content":"x"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"eos"}]}`,
			done), Reply{Text: "x", Finish: "stop"}},
		"length": {events(delta(`{"content":"x"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
			done), Reply{Text: "x", Finish: "length"}},
		"length and nothing": {events(`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, done), Reply{Finish: "length"}},
		"openai cached": {events(delta(`{"content":"x"}`), stop,
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":6,`+
				`"cache_write_tokens":2}}}`, done),
			Reply{Text: "x", Usage: Usage{Input: 9, Cached: 6, Written: 2, Output: 2}}},
		"absurd usage": {events(delta(`{"content":"x"}`), stop,
			`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":-1,"prompt_cache_hit_tokens":10,`+
				`"completion_tokens_details":{"reasoning_tokens":3}}}`, done),
			Reply{Text: "x", Usage: Usage{Input: 15, Cached: 10}}}, // the cached part counts apart

		"calls interleaved": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":""}},{"index":1,"id":"b",`+
				`"function":{"name":"A","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"n\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"1}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}"), call("b", `{"n":1}`)}}},
		"indexes out of order": {events(
			delta(`{"tool_calls":[{"index":3,"id":"b","function":{"name":"A","arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"A","arguments":"{}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}"), call("b", "{}")}}},
		"id and name repeated": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"n\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":":1}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", `{"n":1}`)}}},
		"a new id on each fragment": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"n\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"A","arguments":":1}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", `{"n":1}`)}}},
		"parallel calls all of index 0": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"A","arguments":"{}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}"), call("b", "{}")}}},
		"parallel calls all of index 0 without ids": {events(
			delta(`{"tool_calls":[{"index":0,"function":{"name":"A","arguments":"{\"n\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"A","arguments":"{\"n\":2}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"A","arguments":""}}]}`), stop, done),
			Reply{Calls: []ToolCall{
				{ID: "call_0", Name: "A", Arguments: `{"n":1}`}, {ID: "call_0_1", Name: "A", Arguments: `{"n":2}`},
			}, Finish: "stop"}},
		"no index": {events(
			delta(`{"tool_calls":[{"id":"a","function":{"name":"A","arguments":"{}"}},{"id":"b","function":{"name":"A"}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":"{}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}"), call("b", "{}")}}},
		"no id": {events(
			delta(`{"tool_calls":[{"index":0,"function":{"name":"A","arguments":"{}"}},{"index":1,"id":null,"function":{"name":"A",`+
				`"arguments":"{}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("call_0", "{}"), call("call_1", "{}")}}},
		"the same id twice": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{}"}},{"index":1,"id":"a",`+
				`"function":{"name":"A","arguments":"{\"n\":1}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}"), call("call_1", `{"n":1}`)}}},
		"a call under two indexes": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"n\""}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", `{"n":1}`)}}},
		"tails with an id alone": {events(
			delta(`{"tool_calls":[{"id":"a","function":{"name":"A","arguments":"{"}},{"id":"b","function":{"name":"A","arguments":"{"}}]}`),
			delta(`{"tool_calls":[{"id":"a","function":{"arguments":"}"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"arguments":"}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}"), call("b", "{}")}}},
		"a whole call repeated": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"n\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"n\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"A","arguments":"{\"n\":1}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", `{"n":1}`)}}},
		"null in the place of arguments": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":null}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":null}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "{}")}}},
		"a reason that is the word null": {events(finished("null"), delta(`{"content":"x"}`), stop, done), Reply{Text: "x"}},
		"halves of letters": {events(
			delta(`{"content":"a\ud83d","reasoning_content":"\ud83d"}`), delta(`{"content":"\ude00b\\ud83d","reasoning_content":"\ude00"}`),
			delta(`{"content":"\ud83d"}`), delta(`{"content":"c"}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{\"n\":\"\ud83d"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}`), stop, done),
			Reply{Text: "a😀b\\ud83d\uFFFDc", Reasoning: "😀", Calls: []ToolCall{call("a", `{"n":"😀"}`)}}},
		"a whole completion": {"{\n" + `"choices":[{"message":{"content":"hi","tool_calls":[{"id":"a","function":{"name":"A",` +
			`"arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
			Reply{Text: "hi", Finish: "tool_calls", Calls: []ToolCall{call("a", "{}")}, Usage: Usage{Input: 9, Output: 2}}},
		"no reason behind text, usage and done": {events(delta(`{"content":"x"}`), finished(""),
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, done),
			Reply{Text: "x", Usage: Usage{Input: 9, Output: 2}}},
		"cut, then stop":     {events(delta(`{"content":"x"}`), finished("MAX_TOKENS"), stop, done), Reply{Text: "x", Finish: "length"}},
		"a reason of nobody": {events(delta(`{"content":"x"}`), finished("pause"), done), Reply{Text: "x", Finish: "length"}},
		"arguments that are no JSON": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"path = x"}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", "path = x")}}},
		"arguments as an object": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":{"n": 1}}}]}`), stop, done),
			Reply{Calls: []ToolCall{call("a", `{"n": 1}`)}}},
		"name in pieces": {events(
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"READ"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"_FILE","arguments":"{}"}}]}`), stop, done),
			Reply{Calls: []ToolCall{{ID: "a", Name: "READ_FILE", Arguments: "{}"}}}},
		"cut off before the name": {events(
			delta(`{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"arguments":""}}]}`),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, done),
			Reply{Text: "x", Finish: "length"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.want.Finish == "" {
				test.want.Finish = "stop"
			}
			got, err := server(t, text(test.body)).Complete(t.Context(), ask, nil)
			lethetest.Must(t, err)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func finished(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// Everything under a 200 that is no reply, with the error it has to become.
func TestStreamsThatAreRefused(t *testing.T) {
	some := delta(`{"content":"half"}`)
	for name, test := range map[string]struct {
		body string
		want Error
	}{
		"no finish reason": {events(some, done), Error{Kind: Truncated, Message: "without a finish reason"}},
		"neither":          {events(some), Error{Kind: Truncated, Message: "without a finish reason"}},
		"half an event":    {events(some) + `data: {"choices":[{"ind`, Error{Kind: Garbage, Message: "unreadable"}},
		"keep-alives only": {": keep-alive\n\n: keep-alive\n\n", Error{Kind: Truncated}},
		"empty":            {"", Error{Kind: Garbage, Message: "empty"}},
		"blank text":       {events(delta(`{"content":" \n"}`), stop, done), Error{Kind: Garbage, Message: "blank"}},
		"web page": {"\n <!DOCTYPE html><html><head><title>Sign\nin</title>",
			Error{Kind: Garbage, Message: "web page: Sign in"}},
		"prose":                               {"upstream is busy", Error{Kind: Garbage, Message: "upstream is busy"}},
		"not JSON":                            {"data: hello\n\n", Error{Kind: Garbage, Message: "hello"}},
		"not an object":                       {"data: 7\n\n", Error{Kind: Garbage, Message: "7"}},
		"wrong types":                         {events(`{"choices":"none"}`), Error{Kind: Garbage}},
		"a whole completion that is none":     {`{"choices":[]}`, Error{Kind: Garbage, Message: "no event stream"}},
		"a whole completion without a reason": {`{"choices":[{"message":{"content":"hi"}}]}`, Error{Kind: Truncated}},
		"safety":                              {events(some, finished("SAFETY"), done), Error{Kind: Permanent}},
		"safety, then stop":                   {events(some, finished("safety"), stop, done), Error{Kind: Permanent}},
		"call without a name": {events(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`), stop, done),
			Error{Kind: Garbage, Message: "no name"}},
		"announced calls": {events(some, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, done), Error{Kind: Garbage}},
		"no resources": {events(some,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}`, done), Error{Kind: Transient}},
		"content filter": {events(some, `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`, done),
			Error{Kind: Permanent}},
		"finished by error": {events(some, `{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, done), Error{Kind: Transient}},
		"window exceeded": {events(some,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"model_context_window_exceeded"}]}`, done), Error{Kind: Overflow}},

		"error event": {events(some, `{"error":{"message":"server overloaded","type":"server_error","code":null}}`),
			Error{Kind: Transient, Message: "server overloaded"}},
		"error as text": {events(`{"error":"model crashed"}`), Error{Kind: Transient, Message: "model crashed"}},
		"error with a status": {events(`{"error":{"code":502,"message":"bad ` +
			`upstream"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), Error{Kind: Transient, Status: 502, Message: "bad upstream"}},
		"error of ours": {events(`{"error":{"type":"invalid_request_error","message":"no"}}`), Error{Kind: Permanent, Message: "no"}},
		"error in the window": {events(`{"error":{"type":"invalid_request_error","message":"This model's maximum context length ` +
			`is 4096 tokens."}}`), Error{Kind: Overflow, Limit: 4096}},
		"error without data:": {events(some) + `{"error":{"message":"died"}}` + "\n", Error{Kind: Transient, Message: "died"}},
		"event: error":        {"event: error\ndata: {\"message\":\"gone\"}\n\n", Error{Kind: Transient, Message: "gone"}},
		"object: error":       {events(`{"object":"error","message":"gone","type":"x"}`), Error{Kind: Transient, Message: "gone"}},
		"error body": {`{"error":{"message":"Insufficient ` +
			`Balance","type":"unknown_error","code":"insufficient_balance"}}`, Error{Kind: Permanent, Message: "Insufficient Balance"}},
		"error body in lines": {"{\n  \"error\": {\n\n    \"message\": \"busy\"\n  }\n}\n", Error{Kind: Transient, Message: "busy"}},
		"error after comment": {": keep-alive\n\n" + `{"error":{"message":"busy"}}`, Error{Kind: Transient, Message: "busy"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := failed(t, server(t, text(test.body)), ask)
			if e.Kind != test.want.Kind || e.Status != test.want.Status || e.Limit != test.want.Limit ||
				!strings.Contains(e.Message, test.want.Message) {
				t.Errorf("got  %+v\nwant %+v", e, test.want)
			}
		})
	}
}

// The chunked encoding breaks off in the middle of the stream. What has its finish reason is whole all the same.
func TestConnectionLostInMidStream(t *testing.T) {
	breaks := func(after ...string) *Client {
		return server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, events(after...))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
	}
	if e := failed(t, breaks(delta(`{"content":"half"}`)), ask); e.Kind != Truncated && e.Kind != Transient {
		t.Errorf("got %v", e)
	}
	reply, err := breaks(delta(`{"content":"whole"}`), stop).Complete(t.Context(), ask, nil)
	if err != nil || reply.Text != "whole" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestOversizedLineAndReply(t *testing.T) {
	lethetest.Unraced(t)
	much := strings.Repeat("x", 8<<20)
	for want, test := range map[string][2]string{
		"a line of the stream is larger than 16 MB": {"data: ", much},
		"the reply is larger than 64 MB":            {"", events(delta(`{"content":"` + much + `"}`))},
	} {
		c := server(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, test[0])
			for err == nil {
				_, err = io.WriteString(w, test[1])
			}
		}))
		if e := failed(t, c, ask); e.Kind != Garbage || e.Message != want {
			t.Errorf("%v, want %s", e, want)
		}
	}
}

// readAll reads a whole body, in pieces of one size.
func readAll(body []byte, oneByte bool) (Reply, error) {
	var r io.Reader = bytes.NewReader(body)
	if oneByte {
		r = iotest.OneByteReader(r)
	}
	s := newStream(r, func(s string) string { return s })
	return newDraft(PresetInfo{}, func(Delta) {}, func() {}).read(s)
}

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"", whole, strings.ReplaceAll(whole, "\n", "\r\n"), strings.ReplaceAll(whole, "data: ", "data:"),
		"data: [DONE]", "data: {\ndata: }\n\n", ": c\r\r\n\ndata:\n", "\ufeffdata: null", "<html>", "{\"error\":1}",
		"event: error\ndata: {}\n\n", "event:error\ndata:[", events(`{"error":{"code":429}}`), "\x00\xff\xfe",
		events(`{"choices":[{"delta":{"tool_calls":[{"index":-1},{"index":9223372036854775807},{}]}}]}`),
		events(`{"choices":[{"delta":{"content":[{"thinking":[{"thinking":[]}]}]}}]}`), "data: {\"object\":\"error\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := readAll(body, false)
		if err != nil && KindOf(err) == 0 || (err == nil) != (reply.Finish != "") {
			t.Fatalf("in %q\n%+v, %v", body, reply, err)
		}
		again, err2 := readAll(body, true)
		if !reflect.DeepEqual(again, reply) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("depends on how it arrives:\n%+v, %v\n%+v, %v", reply, err, again, err2)
		}
	})
}
