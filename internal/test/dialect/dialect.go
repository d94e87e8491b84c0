// Package dialect has strict servers that speak as Anthropic and as Gemini do, written from their documentation, and
// leave the thinking to the offline model. They sign what it thinks with all that stood before, and refuse what the
// providers refuse.
package dialect

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

type object = map[string]any

// Recorded is a request as it came in.
type Recorded struct {
	Body    []byte
	Refused string // why it was refused; "" when it was accepted
}

// Server is a provider. It is safe for concurrent use.
type Server struct {
	model http.Handler // of OpenAI's dialect
	speak func(s *Server, w http.ResponseWriter, r *http.Request, body []byte) *refusal

	mu   sync.Mutex
	kept []*Recorded
	seen map[string]bool // what the cache has taken in
}

// Requests returns all that came in.
func (s *Server) Requests() (all []Recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		all = append(all, *r)
	}
	return all
}

// ServeHTTP answers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the client died while it sent this
		return
	}
	record := &Recorded{Body: body}
	if r.Method == http.MethodPost {
		s.mu.Lock()
		s.kept = append(s.kept, record)
		s.mu.Unlock()
	}
	if no := s.speak(s, w, r, body); no != nil {
		s.mu.Lock()
		record.Refused = no.message
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(no.status)
		_ = json.NewEncoder(w).Encode(no.shape(no))
	}
}

// refusal is an answer that is an error.
type refusal struct {
	status  int
	kind    string
	message string
	shape   func(*refusal) any
}

// checker keeps the first reason to refuse a request.
type checker struct {
	no    *refusal
	shape func(*refusal) any
	kind  string
}

func (c *checker) unless(ok bool, format string, args ...any) {
	if !ok && c.no == nil {
		c.no = &refusal{http.StatusBadRequest, c.kind, fmt.Sprintf(format, args...), c.shape}
	}
}

// decode reads JSON that has only fields of into.
func (c *checker) decode(raw []byte, into any, at string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		c.unless(false, "%s: %v", at, err)
	}
}

// sum is the digest of all that a model has read up to a place.
type sum string

// with is the digest with more behind it. Marks for the cache are no part of it.
func (s sum) with(parts ...any) sum {
	for _, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		h := sha256.Sum256(append([]byte(s), text...))
		s = sum(h[:])
	}
	return s
}

// sign returns the signature of a thought behind a place.
func (s sum) sign(thought string) string {
	h := hmac.New(sha256.New, []byte("the provider's own key"))
	h.Write([]byte(string(s) + thought))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// answer is the model's answer.
type answer struct {
	text, reasoning, finish string
	calls                   []call
	input, output           int // tokens
	thought                 int // of output
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// ask has the model answer a request of OpenAI's dialect. An answer without a finish broke off.
func (s *Server) ask(ctx context.Context, request object) (answer answer, status int, problem string) {
	body, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/chat/completions", bytes.NewReader(body)).WithContext(ctx)
	w := httptest.NewRecorder()
	s.model.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		var told struct{ Error struct{ Message string } }
		_ = json.Unmarshal(w.Body.Bytes(), &told)
		return answer, w.Code, told.Error.Message
	}
	for line := range strings.Lines(w.Body.String()) {
		var e struct {
			Choices []struct {
				Delta struct {
					Content   string
					Reasoning string `json:"reasoning_content"`
					Calls     []struct {
						call
						Index int
					} `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage struct {
				Input   int `json:"prompt_tokens"`
				Output  int `json:"completion_tokens"`
				Details struct {
					Reasoning int `json:"reasoning_tokens"`
				} `json:"completion_tokens_details"`
			}
		}
		data, found := strings.CutPrefix(line, "data: {")
		if !found {
			continue
		}
		if err := json.Unmarshal([]byte("{"+data), &e); err != nil {
			panic(err)
		}
		answer.input, answer.output = max(answer.input, e.Usage.Input), max(answer.output, e.Usage.Output)
		answer.thought = max(answer.thought, e.Usage.Details.Reasoning)
		for _, c := range e.Choices {
			answer.text += c.Delta.Content
			answer.reasoning += c.Delta.Reasoning
			answer.finish += c.Finish
			for _, piece := range c.Delta.Calls {
				if piece.Index == len(answer.calls) {
					answer.calls = append(answer.calls, piece.call)
					continue
				}
				answer.calls[piece.Index].Function.Arguments += piece.Function.Arguments
			}
		}
	}
	return answer, http.StatusOK, ""
}

// send sends events, each with its type where it has one.
func send(w http.ResponseWriter, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if kind, ok := e["type"]; ok {
			fmt.Fprintf(w, "event: %s\n", kind)
		}
		text, _ := json.Marshal(e)
		fmt.Fprintf(w, "data: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
}
