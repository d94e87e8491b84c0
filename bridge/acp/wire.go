package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/internal/lines"
)

const (
	maxLine = 10<<20 - 1 // bytes of a message: the library ends the connection at a longer one
	maxHeld = 64 << 20   // bytes of a message that is read to be refused; a longer one ends the connection
)

// wire is the connection as the library sees it. It answers messages that the library cannot take, or would take for
// others, and completes messages that it cannot write.
type wire struct {
	*lines.Reader

	cancelled <-chan struct{} // a session/cancel was obeyed
	waits     bool            // for that, since the line before was one
	stray     string          // the first line that is no message, quoted

	mu sync.Mutex // held while a message is written
	to io.Writer
}

func newWire(from io.Reader, to io.Writer, cancelled <-chan struct{}) *wire {
	w := &wire{to: to, cancelled: cancelled}
	w.Reader = lines.New(from, maxHeld, w.take)
	return w
}

// obeyTime bounds the wait for a session/cancel to be obeyed, in case the library refuses it.
const obeyTime = time.Second

// take returns a line for the library. It holds back what stands behind a session/cancel until that is obeyed: the
// library handles notifications and requests side by side, and would cancel the next prompt.
func (w *wire) take(line []byte) ([]byte, error) {
	if w.waits {
		select {
		case <-w.cancelled:
		case <-time.After(obeyTime):
		}
	}
	w.waits = false
	text := bytes.TrimSpace(line)
	switch {
	case len(line) > maxHeld:
		return nil, fmt.Errorf("the editor sent a message above %s", blobs.Size(maxHeld))
	case len(text) == 0:
		return nil, nil
	case text[0] != '{', !json.Valid(text):
		w.stray = cmp.Or(w.stray, fmt.Sprintf("%.80q", text))
		w.send(refusal(nil, &sdk.RequestError{Code: -32700, Message: "the line is no JSON object"}))
		return nil, nil
	case w.refuses(line):
		return nil, nil
	}
	w.waits = isCancel(line)
	return line, nil
}

// end returns why the input cannot be read on, or which line of it was no message.
func (w *wire) end() error {
	if err := w.Err(); err != nil && err != io.EOF {
		return err
	}
	if w.stray == "" {
		return nil
	}
	return &report.InvalidError{
		Err: fmt.Errorf("the input has a line that is no message of an editor: %s", w.stray), Advice: "an editor starts this",
	}
}

// refusal answers a request.
func refusal(id json.RawMessage, why error) any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": why}
}

// isCancel reports whether a line is a session/cancel.
func isCancel(line []byte) bool {
	if !bytes.Contains(line, []byte(sdk.AgentMethodSessionCancel)) {
		return false
	}
	var message struct{ Method string }
	err := json.Unmarshal(line, &message)
	return err == nil && message.Method == sdk.AgentMethodSessionCancel
}

// blockKinds are the kinds of blocks that a prompt may hold.
var blockKinds = []string{"text", "image", "audio", "resource_link", "resource"}

// refuses answers a request that is too long, or has a block of an unknown kind, which the library takes for a text.
func (w *wire) refuses(line []byte) bool {
	isLong := len(line) > maxLine
	if !isLong && !bytes.Contains(line, []byte(sdk.AgentMethodSessionPrompt)) {
		return false
	}
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Prompt []struct{ Type string }
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &request); err != nil || request.Method == "" {
		return isLong
	}
	why := ""
	if isLong {
		why = fmt.Sprintf("the message has %s, and may have %s; a picture or a file takes a third more than its size: "+
			"make it smaller, or name its path", blobs.Size(int64(len(line))), blobs.Size(maxLine+1))
	}
	for _, block := range request.Params.Prompt {
		if !slices.Contains(blockKinds, block.Type) {
			why = fmt.Sprintf("a block of the prompt is of the kind %.40q; it can be one of: %s",
				block.Type, strings.Join(blockKinds, ", "))
		}
	}
	if why == "" {
		return false
	}
	if len(request.ID) > 0 {
		w.send(refusal(request.ID, invalid("%s", why)))
	}
	return true
}

// Write implements io.Writer. It writes one message.
func (w *wire) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"method":"`+sdk.ClientMethodElicitationCreate+`"`)) {
		w.send(scoped(line))
		return len(line), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

// scoped returns a question with its session, for which the library has no member: the session stands in _meta.
func scoped(line []byte) any {
	var message struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  map[string]any  `json:"params"`
	}
	if err := json.Unmarshal(line, &message); err != nil {
		return json.RawMessage(line)
	}
	if meta, ok := message.Params["_meta"].(map[string]any); ok {
		message.Params["sessionId"] = meta["sessionId"]
		delete(message.Params, "_meta")
	}
	return message
}

// send writes a message. An editor that is gone misses it, and nothing else is lost.
func (w *wire) send(message any) {
	line, _ := json.Marshal(message) // made of JSON
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(append(line, '\n'))
}
