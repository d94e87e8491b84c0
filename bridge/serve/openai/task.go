package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"lethe/bridge"
	"lethe/internal/lazy"
)

// Front ends ask a model for titles, tags and the like. Such a request never reaches an identity:
// it is answered here, by rule. The server holds no key of a model, since everything that reaches
// it would reach the key, and a title is worth no money of a life.

// taskOf returns the prompt of a request that is no part of a conversation.
func taskOf(r *http.Request, t talk) (prompt string, ok bool) {
	if n := len(t.said); n > 0 {
		prompt = t.said[n-1].Content.text()
	}
	return prompt, header(r, "X-OpenWebUI-Task") != "" || len(t.said) == 1 && strings.HasPrefix(strings.TrimSpace(prompt), "### Task:")
}

var (
	// The member that the answer has to have, as the prompt shows its form.
	taskMember = lazy.Regexp(`\{\s*"(title|tags|follow_ups|queries|text)"\s*:`)
	taskTalk   = lazy.Regexp(`(?s)<chat_history>\s*(?:USER:\s*)?(.*?)(?:\n(?:USER|ASSISTANT):|\s*</chat_history>)`)
)

// doTask answers what can be answered by rule: a title is how the conversation begins, and there
// are no tags, questions that may follow, queries for a search, or ends of a sentence.
func doTask(prompt string) (string, error) {
	m := taskMember().FindStringSubmatch(prompt)
	if m == nil {
		return "", refuse("messages", "this task is no part of a conversation, and cannot be done without a model; name another model for tasks in the client (in Open WebUI: Admin Settings, Interface, Task Model)")
	}
	answer := map[string]any{m[1]: []string{}}
	switch m[1] {
	case "text":
		answer["text"] = ""
	case "title":
		answer["title"] = "Chat"
		if talk := taskTalk().FindStringSubmatch(prompt); talk != nil && strings.TrimSpace(talk[1]) != "" {
			answer["title"] = bridge.Clip(talk[1], 48)
		}
	}
	text, err := json.Marshal(answer)
	return string(text), err
}
