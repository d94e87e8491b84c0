package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An answer may have many files; a bounded number of them is kept, and the rest is told.
func TestFilesAreBounded(t *testing.T) {
	result := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "all of them"}}}
	for range 50_000 {
		result.Content = append(result.Content, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("x")})
	}
	answer := answerOf(result)
	if len(answer.Files) != maxFiles || !strings.HasSuffix(string(answer.Text), "49936 more files were not kept: an answer may have 64") {
		t.Errorf("%d files: %s", len(answer.Files), answer.Text)
	}
}

// A server may notify and answer as long as it likes, and not send 100 MB of small notifications at once.
func TestNotificationsAreBounded(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n"
	for line, floods := range map[string]bool{
		note: true, "data: " + note: true, strings.Replace(note, `"method"`, `"id":7,"method"`, 1): false,
	} {
		from := io.LimitReader(&repeated{text: line}, 100<<20)
		read, err := io.Copy(io.Discard, newLines(io.NopCloser(from), readable))
		if floods != errors.Is(err, errFlood) || floods && read > maxMessage+1024 {
			t.Errorf("%.40s: %d bytes, %v", line, read, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		from := &repeated{text: strings.Repeat(note, 1000), pause: time.Second} // 100 kB a second
		read, err := io.Copy(io.Discard, newLines(io.NopCloser(io.LimitReader(from, 30<<20)), readable))
		if err != nil || read != 30<<20 {
			t.Errorf("over five minutes: %d bytes, %v", read, err)
		}
	})
}

// repeated is a text again and again, with a pause before each.
type repeated struct {
	text, rest string
	pause      time.Duration
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		time.Sleep(r.pause)
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
