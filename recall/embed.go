package recall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Embedder names an OpenAI-compatible endpoint for embeddings. It gets the
// beginning of everything that has faded, and what is searched for.
type Embedder struct {
	URL   string // what /embeddings is appended to: https://host/v1
	Model string
	Key   string // sent to that host and nowhere else; "" for none
	// Timeout bounds one request for originals; 0 is 30 s. A search waits less.
	Timeout time.Duration
}

// Check says what is wrong with an endpoint.
func (e *Embedder) Check() error {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("the address of the embeddings endpoint is not http:// or https:// and a host") // which may hold a password
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("the address of the embeddings endpoint has a user, a query or a fragment")
	case strings.TrimSpace(e.Model) == "":
		return errors.New("no model is named for the embeddings endpoint")
	}
	return nil
}

// EmbedError says why an endpoint gave no vectors. Neither the key nor the
// text of a request or an answer is in it.
type EmbedError struct {
	Host    string
	Status  int // of the answer; 0 when there was none
	Message string
	Err     error // what failed below HTTP; may be nil
}

func (e *EmbedError) Error() string {
	return fmt.Sprintf("ask %s for embeddings: %s", e.Host, e.Message)
}

func (e *EmbedError) Unwrap() error { return e.Err }

// refused reports whether the texts themselves may be what an endpoint does not
// take: servers answer with any of these to a text that is too long.
func (e *EmbedError) refused() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}

const (
	embedTime  = 30 * time.Second
	embedBatch = 32   // texts of one request
	embedRunes = 2000 // of one text
	mostDims   = 8192
	mostAnswer = 16 << 20 // bytes: a batch of the largest vectors, at 60 bytes a number
)

// embedding is an endpoint that an index uses.
type embedding struct {
	Embedder
	client  http.Client
	trouble trouble
}

func newEmbedding(e Embedder) *embedding {
	transport := http.DefaultTransport.(*http.Transport).Clone() // one of our own, to be closed
	return &embedding{Embedder: e, client: http.Client{
		Transport: transport,
		// A redirected POST would carry texts and key to a host nobody chose.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// fail makes the error of this endpoint.
func (e *embedding) fail(status int, err error, format string, args ...any) *EmbedError {
	host := "the endpoint"
	if u, perr := url.Parse(e.URL); perr == nil && u.Host != "" {
		host = u.Host
	}
	return &EmbedError{Host: host, Status: status, Message: fmt.Sprintf(format, args...), Err: err}
}

// embed asks for the vectors of some texts. They are of one dimension, and of
// length 1.
func (e *embedding) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.Check(); err != nil {
		return nil, e.fail(0, err, "%v", err)
	}
	body, err := json.Marshal(map[string]any{"model": e.Model, "input": texts})
	if err != nil {
		return nil, e.fail(0, err, "%v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.URL, "/")+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, e.fail(0, nil, "the address makes no request")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "lethe")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, e.broken(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	switch {
	case resp.StatusCode != http.StatusOK: // its text may quote what was sent
		return nil, e.fail(resp.StatusCode, nil, "it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	case err != nil:
		return nil, e.broken(err)
	case len(answer) > mostAnswer:
		return nil, e.fail(resp.StatusCode, nil, "the answer is longer than %d MB", mostAnswer>>20)
	}
	vectors, err := readVectors(answer, len(texts))
	if err != nil {
		return nil, e.fail(resp.StatusCode, nil, "%v", err)
	}
	return vectors, nil
}

// broken drops the address that net/http puts around a cause.
func (e *embedding) broken(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text := cutBytes(e.redact(err.Error()), 200) // net/http quotes an answer that is no HTTP
	if text != err.Error() {
		err = nil
	}
	return e.fail(0, err, "%s", text)
}

func (e *embedding) redact(s string) string {
	if e.Key == "" {
		return s
	}
	return strings.ReplaceAll(s, e.Key, "[key]")
}

// readVectors reads an answer to n texts. Its errors quote nothing of it.
func readVectors(answer []byte, n int) ([][]float32, error) {
	var got struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if json.Unmarshal(answer, &got) != nil {
		return nil, errors.New("the answer is not a list of vectors in JSON")
	}
	if len(got.Data) != n {
		return nil, fmt.Errorf("the answer has %d vectors for %d texts", len(got.Data), n)
	}
	out := make([][]float32, n)
	for _, d := range got.Data {
		switch dims := len(d.Embedding); {
		case d.Index == nil || *d.Index < 0 || *d.Index >= n || out[*d.Index] != nil:
			return nil, errors.New("the answer does not number its vectors from 0, each once")
		case dims == 0 || dims > mostDims:
			return nil, fmt.Errorf("a vector has %d numbers; 1 to %d are possible", dims, mostDims)
		case dims != len(got.Data[0].Embedding):
			return nil, errors.New("the vectors are of different lengths")
		}
		v, ok := normal(d.Embedding)
		if !ok {
			return nil, errors.New("a vector has no direction")
		}
		out[*d.Index] = v
	}
	return out, nil
}

// normal scales a vector to length 1. It is false for one that is zero or not
// finite.
func normal(v []float64) ([]float32, bool) {
	most := 0.0
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		most = max(most, math.Abs(x))
	}
	if most < math.SmallestNonzeroFloat32 {
		return nil, false
	}
	sum := 0.0
	for _, x := range v { // divided first, so that no square is too large
		sum += x / most * (x / most)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / most / math.Sqrt(sum))
	}
	return out, true
}
