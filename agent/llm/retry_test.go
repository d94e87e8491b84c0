package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

func TestRetriesWhatPasses(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{
		"408": status(408, ""), "409": status(409, ""), "429": status(429, ""), "500": status(500, ""),
		"502": status(502, "<html>"), "503": status(503, ""), "529": status(529, ""),
		"truncated":   text(events(delta(`{"content":"half"}`))),
		"garbage":     text("<html>"),
		"blank":       text(events(stop, done)),
		"error event": text(events(`{"error":{"message":"overloaded"}}`)),
		"hung up":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waits []time.Duration
				c, stop := inMemory(t, Config{OnRetry: func(err error, wait time.Duration) {
					waits = append(waits, wait)
					if KindOf(err) == 0 {
						t.Errorf("told %T", err)
					}
				}}, answers(first, text(whole)))
				defer stop()
				began := time.Now()
				reply, err := c.Complete(t.Context(), ask, nil)
				if err != nil || reply.Text != "hello" {
					t.Fatalf("%+v, %v", reply, err)
				}
				if len(waits) != 1 {
					t.Fatalf("waits %v", waits)
				}
				within(t, "wait", waits[0], firstWait/2, firstWait*3/2)
				within(t, "time passed", time.Since(began), waits[0], waits[0]+time.Second)
			})
		})
	}
}

func TestRetriesAreBounded(t *testing.T) {
	for _, test := range []struct {
		retries, calls int
		kind           Kind
		answer         http.HandlerFunc
	}{
		{0, 1 + defaultRetries, Transient, status(503, "busy")}, {3, 4, Transient, status(503, "busy")}, {-1, 1, Transient, status(503, "busy")},
		{0, 2, Garbage, text("<html>")}, {0, 2, Truncated, text(events(delta(`{"content":"half"}`)))}, // which was paid for
		{0, 1 + defaultRetries, Truncated, text(": keep-alive\n\n")},
		{0, 1, Permanent, status(400, "")}, {0, 1, Permanent, status(401, "")}, {0, 1, Permanent, status(404, "")},
		{0, 1, Permanent, status(302, "")},
		{0, 1, Permanent, status(429, `{"error":{"code":"insufficient_quota"}}`)},
		{0, 1, Overflow, status(400, `{"error":{"message":"maximum context length is 4096 tokens"}}`)},
		{1, 2, Transient, status(429, "", "Retry-After: 0")}, // which does not switch off the back-off
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			var waits []time.Duration
			c, stop := inMemory(t, Config{MaxRetries: test.retries, OnRetry: func(_ error, w time.Duration) { waits = append(waits, w) }},
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { calls++; test.answer(w, r) }))
			defer stop()
			e := failed(t, c, ask)
			if e.Kind != test.kind || calls != test.calls || len(waits) != calls-1 {
				t.Errorf("%v after %d calls, %d waits", e, calls, len(waits))
			}
			for i, w := range waits {
				base := min(firstWait<<i, maxWait)
				within(t, "wait "+strconv.Itoa(i), w, base/2, base*3/2+time.Nanosecond)
			}
		})
	}
}

// What was paid for in vain is bought three times at most, whatever is wrong each time.
func TestPaidAttemptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c, end := inMemory(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls++
			broken := `{"error":{"message":"overloaded for the ` + strconv.Itoa(calls) + `th time"}}`
			text(events(delta(`{"content":"half"}`), broken))(w, r)
		}))
		defer end()
		if failed(t, c, ask); calls != 3 {
			t.Errorf("%d calls", calls)
		}
	})
}

// An answer in JSON with the name of a tool may be an answer: it is taken if it comes twice.
func TestAnswerLikeACall(t *testing.T) {
	call := func(n int) http.HandlerFunc {
		said, _ := json.Marshal(map[string]string{"content": fmt.Sprintf(`{"name": "BASH", "arguments": {"n": %d}}`, n)})
		return text(events(delta(string(said)), stop, done))
	}
	request := ask
	request.Tools = json.RawMessage(`[{"type":"function","function":{"name":"BASH"}}]`)
	synctest.Test(t, func(t *testing.T) {
		c, end := inMemory(t, Config{}, answers(call(1), call(1)))
		defer end()
		reply, err := c.Complete(t.Context(), request, nil)
		if err != nil || reply.Waste.Calls != 1 || reply.Text != `{"name": "BASH", "arguments": {"n": 1}}` {
			t.Errorf("%+v, %v", reply, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, end := inMemory(t, Config{}, answers(call(1), call(2), call(3)))
		defer end()
		if e := failed(t, c, request); e.Kind != Garbage {
			t.Errorf("another call each time: %v", e)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		mark := text(events(delta(`{"content":"<tool_call>BASH</tool_call>"}`), stop, done))
		c, end := inMemory(t, Config{}, answers(mark, mark, mark))
		defer end()
		if e := failed(t, c, request); e.Kind != Garbage {
			t.Errorf("the marks of a call: %v", e)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	// beyond the cap: never sooner than it
	for asked, least := range map[string]time.Duration{"20": 20 * time.Second, "7.5": 7500 * time.Millisecond, "3600": retryCap} {
		synctest.Test(t, func(t *testing.T) {
			c, stop := inMemory(t, Config{}, answers(status(429, "", "Retry-After: "+asked), text(whole)))
			defer stop()
			began := time.Now()
			_, err := c.Complete(t.Context(), ask, nil)
			lethetest.Must(t, err)
			within(t, "Retry-After "+asked, time.Since(began), least, least*11/10+time.Second)
		})
	}
}

func TestCancelDuringBackOffIsImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := inMemory(t, Config{}, status(429, "", "Retry-After: 200"))
		defer stop()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("user typed /stop")
		time.AfterFunc(10*time.Second, func() { cancel(why) })
		began := time.Now()
		_, err := c.Complete(ctx, ask, nil)
		if KindOf(err) != Canceled || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if passed := time.Since(began); passed != 10*time.Second {
			t.Errorf("ended after %v", passed)
		}
	})
}

func TestWhatARetryShowedIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := inMemory(t, Config{}, answers(
			text(events(delta(`{"reasoning_content":"r","content":"half"}`))), status(503, ""), text(whole)))
		defer stop()
		var got []Delta
		_, err := c.Complete(t.Context(), ask, func(d Delta) { got = append(got, d) })
		lethetest.Must(t, err)
		want := []Delta{{Reasoning: "r", Text: "half"}, {Reset: true}, {Text: "hello"}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("deltas %+v, want %+v", got, want)
		}
	})
}

// pauses answers with pieces of a stream, waiting between them.
func pauses(wait time.Duration, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for _, p := range pieces {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
		}
	}
}

func TestMinutesOfKeepAlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := []string{": keep-alive\n\n", ": keep-alive\n\n"}
		c, stop := inMemory(t, Config{MaxRetries: -1}, pauses(idleTimeout-time.Second, append(alive, whole)...))
		defer stop()
		began := time.Now()
		reply, err := c.Complete(t.Context(), ask, nil)
		if err != nil || reply.Text != "hello" {
			t.Fatalf("%+v, %v", reply, err)
		}
		within(t, "time passed", time.Since(began), 9*time.Minute, 10*time.Minute)
	})
}

// What keeps the connection alive is no answer: after ten minutes of nothing else it is given up, once, also in the
// middle of an answer.
func TestNothingButKeepAlives(t *testing.T) {
	for name, alive := range map[string]string{"comments": ": keep-alive\n\n", "events": "event: ping\ndata: {\"type\":\"ping\"}\n\n"} {
		for _, begun := range []string{"", events(delta(`{"content":"half"}`))} {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c, stop := inMemory(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					calls++
					pauses(time.Minute, append([]string{begun}, slices.Repeat([]string{alive}, 500)...)...)(w, r)
				}))
				defer stop()
				began := time.Now()
				e := failed(t, c, ask)
				if e.Kind != Transient || !errors.Is(e, errNoAnswer) || time.Since(began) != defaultAnswer || calls != 1 {
					t.Errorf("%s after %q: %v after %v, %d calls", name, begun, e, time.Since(began), calls)
				}
			})
		}
	}
}

// Where another model can stand in, a server is left after a minute of nothing, however it keeps the connection alive;
// one that thinks unseen gets five.
func TestPatience(t *testing.T) {
	for name, alive := range map[string]string{
		"comments": ": keep-alive\n\n", "drips": " ", "silence": "", "empty text": events(delta(`{"content":""}`)),
		"roles": events(delta(`{"role":"assistant"}`)), "the same usage": events(`{"choices":[],"usage":{"prompt_tokens":0}}`),
	} {
		for preset, want := range map[string]time.Duration{"deepseek": time.Minute, "openai": 5 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				half := []string{events(delta(`{"content":"half"}`))}
				slowly := pauses(10*time.Second, append(half, slices.Repeat([]string{alive}, 500)...)...)
				c, stop := inMemory(t, Config{}, slowly)
				defer stop()
				c.preset, _ = Preset(preset)
				patient := ask
				patient.Patience = time.Minute
				began := time.Now()
				if e := failed(t, c, patient); e.Kind != Transient || time.Since(began) != want {
					t.Errorf("%s, %s: %v after %v", name, preset, e, time.Since(began))
				}
			})
		}
	}
}

// With a finish reason an answer is complete. What follows within five seconds, such as its usage, is still taken.
func TestSilenceAfterFinish(t *testing.T) {
	usage := events(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
	for name, test := range map[string]struct {
		h     http.HandlerFunc
		usage int
		took  time.Duration
	}{
		"silence": {pauses(time.Hour, events(delta(`{"content":"x"}`), stop)), 0, afterFinish},
		"keep-alives": {pauses(time.Second, append([]string{events(delta(`{"content":"x"}`), stop)},
			slices.Repeat([]string{": keep-alive\n\n"}, 500)...)...), 0, afterFinish},
		"usage after 4 s":  {pauses(4*time.Second, events(delta(`{"content":"x"}`), stop), usage), 9, 8 * time.Second},
		"silence after it": {pauses(time.Hour, events(delta(`{"content":"x"}`), stop)+usage), 9, afterFinish},
		"done after 2 s":   {pauses(2*time.Second, events(delta(`{"content":"x"}`), stop)+usage, events(done)), 9, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, stop := inMemory(t, Config{}, test.h)
				defer stop()
				began := time.Now()
				reply, err := c.Complete(t.Context(), ask, nil)
				if err != nil || reply.Text != "x" || reply.Usage.Input != test.usage || reply.Waste != (Waste{}) || time.Since(began) != test.took {
					t.Errorf("%+v, %v after %v", reply, err, time.Since(began))
				}
			})
		})
	}
}

func TestSilence(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"before the headers": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"after the headers": pauses(time.Hour, ""),
		"in mid-stream":     pauses(time.Hour, events(delta(`{"content":"half"}`))),
		"in mid-line":       pauses(time.Hour, "data: {"),
		"in an error body": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			status(400, "x")(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, stop := inMemory(t, Config{}, h)
				defer stop()
				began := time.Now()
				e := failed(t, c, ask)
				if passed := time.Since(began); passed != idleTimeout { // and nothing is repeated
					t.Errorf("ended after %v: %v", passed, e)
				}
				if name != "in an error body" && (e.Kind != Transient || !errors.Is(e, errIdle)) {
					t.Errorf("got %v", e)
				}
			})
		})
	}
}

// A request that takes long to send is not silence.
func TestSlowUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := inMemory(t, Config{MaxRetries: -1}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			buf := make([]byte, 256<<10)
			for {
				if _, err := io.ReadFull(r.Body, buf); err != nil {
					break
				}
				time.Sleep(idleTimeout - time.Second)
			}
			io.WriteString(w, whole)
		}))
		defer stop()
		r := Request{Model: "m", Messages: []Message{{Role: "user", Content: Text(strings.Repeat("x", 2<<20))}}}
		began := time.Now()
		_, err := c.Complete(t.Context(), r, nil)
		lethetest.Must(t, err)
		within(t, "time passed", time.Since(began), 30*time.Minute, time.Hour)
	})
}

func TestLivelyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := inMemory(t, Config{MaxRetries: -1}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				pauses(time.Minute, events(delta(`{"content":"more"}`)))(w, r)
			}
		}))
		defer stop()
		began := time.Now()
		e := failed(t, c, ask)
		if e.Kind != Transient || time.Since(began) != callCap {
			t.Errorf("%v after %v", e, time.Since(began))
		}
	})
}

// An attempt that was sent and got no answer may have been billed; one that was refused, or
// not sent, was not.
func TestUnanswered(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"1 silent": func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"1 cut off": func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		},
		"0 refused": status(503, ""),
		"0 broken":  text(events(delta(`{"content":"half"}`))), // it is among the Calls
	} {
		synctest.Test(t, func(t *testing.T) {
			c, stop := inMemory(t, Config{MaxRetries: -1}, h)
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			reply, err := c.Complete(ctx, ask, nil)
			if want := int(name[0] - '0'); err == nil || reply.Waste.Unanswered != want {
				t.Errorf("%s: %+v, %v", name, reply.Waste, err)
			}
		})
	}
}
