package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/internal/lines"
)

// errFlood ends a connection before its notifications fill the memory: the library queues them.
var errFlood = fmt.Errorf("it sent more than %s of notifications in a minute", blobs.Size(maxMessage))

// bounded is a connection that passes on what do makes of each line. A line above maxMessage passes as it is.
type bounded struct {
	io.Reader
	io.Closer
}

func newLines(from io.ReadCloser, do func([]byte) []byte) bounded {
	var notes notes
	pass := func(line []byte) ([]byte, error) {
		if len(line) > maxMessage {
			return line, nil
		}
		line = do(line)
		if notes.flood(line) {
			return nil, errFlood
		}
		return line, nil
	}
	return bounded{lines.New(from, maxMessage, pass), from}
}

// notes counts the bytes of the notifications in a minute.
type notes struct {
	bytes int
	since time.Time
}

// flood counts a line, and reports whether too many notifications come.
func (n *notes) flood(line []byte) bool {
	var message struct {
		ID     json.RawMessage
		Method string
	}
	text, _ := bytes.CutPrefix(line, []byte("data:"))
	if err := json.Unmarshal(text, &message); err != nil {
		return false
	}
	isNotification := message.Method != "" && message.ID == nil
	if !isNotification {
		return false
	}
	if now := time.Now(); now.Sub(n.since) > time.Minute {
		n.bytes, n.since = 0, now
	}
	n.bytes += len(line)
	return n.bytes > maxMessage
}

// messages returns what keeps the lines of a program's output that are messages. It logs the first of the others, and
// puts all of them into errors.
func messages(log *slog.Logger, errors *tail) func([]byte) []byte {
	warned := false
	return func(line []byte) []byte {
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			return nil
		}
		if isMessage(text) {
			return readable(line)
		}
		if !warned {
			warned = true
			log.Warn("a server of tools prints lines that are no messages; they are passed over", "line", string(text[:min(len(text), 200)]))
		}
		_, _ = errors.Write(line) // cannot fail
		return nil
	}
}

// isMessage reports whether a line is a message, or a list of messages: a server's log may be JSON, too.
func isMessage(line []byte) bool {
	type message struct {
		Version string `json:"jsonrpc"`
	}
	var one message
	if json.Unmarshal(line, &one) == nil {
		return one.Version != ""
	}
	var list []message
	if json.Unmarshal(line, &list) != nil || len(list) == 0 {
		return false
	}
	return !slices.ContainsFunc(list, func(m message) bool { return m.Version == "" })
}

// readable returns a message with the structured content exact, and its questions unversioned.
func readable(line []byte) []byte { return unversioned(exact(line)) }

// unversioned returns a message whose questions name no version of JSON Schema: the library refuses all answers by a
// version that it does not know, and the few keywords that a question may have mean the same in each.
func unversioned(line []byte) []byte {
	isVersioned := bytes.Contains(line, []byte(`"requestedSchema"`)) && bytes.Contains(line, []byte(`"$schema"`))
	if !isVersioned {
		return line
	}
	text, isEvent := bytes.CutPrefix(line, []byte("data:"))
	message, ok := decode(string(text))
	if !ok {
		return line
	}
	dropVersions(message)
	return encoded(message, isEvent)
}

// dropVersions takes the versions out of the schemas of questions.
func dropVersions(value any) {
	switch v := value.(type) {
	case map[string]any:
		if schema, ok := v["requestedSchema"].(map[string]any); ok {
			delete(schema, "$schema")
		}
		for _, inner := range v {
			dropVersions(inner)
		}
	case []any:
		for _, inner := range v {
			dropVersions(inner)
		}
	}
}

// encoded returns a message as a line, or as an event's.
func encoded(message any, isEvent bool) []byte {
	out, _ := json.Marshal(message) // it was read from JSON: cannot fail
	if isEvent {
		out = append([]byte("data: "), out...)
	}
	return append(out, '\n')
}

// exact returns a message in whose result structuredContent is a string with the JSON that the server sent: the library
// would read numbers as floats, and lose digits. The line may be an event's.
func exact(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"structuredContent"`)) {
		return line
	}
	text, isEvent := bytes.CutPrefix(line, []byte("data:"))
	var message, result map[string]json.RawMessage
	if json.Unmarshal(text, &message) != nil || json.Unmarshal(message["result"], &result) != nil {
		return line
	}
	data := result["structuredContent"]
	if len(data) == 0 || string(data) == "null" {
		return line
	}
	result["structuredContent"], _ = json.Marshal(string(data)) // these were read from JSON: they cannot fail
	message["result"], _ = json.Marshal(result)
	return encoded(message, isEvent)
}
