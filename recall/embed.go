package recall

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
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

// EmbedError says why an endpoint gave no vectors, in fixed words: no byte of a
// request or an answer is in it, since an answer may quote the request or the key.
type EmbedError struct {
	Host    string
	Status  int // of the answer; 0 when there was none
	Message string
	Err     error // how the context ended, when that is why; else nil
}

func (e *EmbedError) Error() string {
	return fmt.Sprintf("ask %s for embeddings: %s", e.Host, e.Message)
}

func (e *EmbedError) Unwrap() error { return e.Err }

// refused reports whether one of the texts may be what an endpoint does not take:
// servers answer with any of these to a text that is too long.
func (e *EmbedError) refused() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

const (
	embedTime  = 30 * time.Second
	embedBatch = 32   // texts of one request
	embedRunes = 2000 // of one text
	mostDims   = 8192
	mostAnswer = 16 << 20        // bytes: a batch of the largest vectors, at 60 bytes a number
	mostAfter  = 5 * time.Minute // that a Retry-After is obeyed
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
		return nil, e.fail(0, nil, "%v", err)
	}
	if wait := e.trouble.wait(); wait > 0 {
		return nil, e.fail(0, nil, "it is not asked for another %s, as it wished", wait.Round(time.Second))
	}
	body, err := json.Marshal(map[string]any{"model": e.Model, "input": texts})
	if err != nil {
		return nil, e.fail(0, nil, "the texts make no request")
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
	case resp.StatusCode != http.StatusOK:
		e.trouble.leave(retryAfter(resp.Header, time.Now()))
		return nil, e.fail(resp.StatusCode, nil, "%s", strings.TrimSpace(fmt.Sprintf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))))
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

// broken says what kind of failure there was below HTTP. The error itself is
// dropped: net/http quotes an answer that is no HTTP, and the address.
func (e *embedding) broken(err error) error {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var op *net.OpError
	var slow net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return e.fail(0, context.Canceled, "it was not waited for")
	case errors.Is(err, context.DeadlineExceeded):
		return e.fail(0, context.DeadlineExceeded, "it did not answer in time")
	case errors.As(err, &name):
		return e.fail(0, nil, "its name cannot be looked up")
	case errors.As(err, &certificate):
		return e.fail(0, nil, "its certificate cannot be verified")
	case errors.As(err, &slow) && slow.Timeout():
		return e.fail(0, nil, "it did not answer in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return e.fail(0, nil, "it refuses connections")
	case errors.As(err, &op) && op.Op == "dial":
		return e.fail(0, nil, "it cannot be reached")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return e.fail(0, nil, "the connection broke")
	}
	return e.fail(0, nil, "its answer is not HTTP as it should be")
}

// retryAfter is how long an endpoint wants to be left alone, as far as that is
// obeyed: it names seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), mostAfter)
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, mostAfter.Seconds()) * float64(time.Second))
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
