package mcp

import (
	"strings"
	"testing"

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
