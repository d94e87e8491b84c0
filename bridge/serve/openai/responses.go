package openai

import (
	"encoding/json"
	"fmt"
	"net/http"

	"lethe/agent/host"
)

// asked has the members of a body of POST /v1/responses that are obeyed here. A client that names the response before
// shows only what is new; the identity knows the rest.
type asked struct {
	request
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Text         struct {
		Format struct {
			Type   string
			Schema json.RawMessage
		} `json:"format"`
	} `json:"text"`
}

// item is a message of an input. Other items, of tools and of thinking, are passed over.
type item struct {
	Type    string
	Role    string
	Content json.RawMessage
}

// itemPart is a part of an item's content.
type itemPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
	Name     string `json:"filename"`
	Data     string `json:"file_data"`
}

// readResponse makes a completion of a body of POST /v1/responses.
func readResponse(r *http.Request) (completion request, messages []message, err error) {
	var body asked
	if err := readBody(r, &body); err != nil {
		return completion, nil, err
	}
	completion = body.request
	completion.Format.Type = body.Text.Format.Type
	completion.Format.JSONSchema.Schema = body.Text.Format.Schema
	all, err := messagesOf(body)
	if err != nil || len(all) == 0 {
		return completion, nil, refuse("input has to be a text, or a list of messages with a role and a content")
	}
	completion.Messages, _ = json.Marshal(all) // it was read from JSON
	messages, err = completion.check()
	return completion, messages, err
}

// messagesOf returns the messages of an input as a completion has them.
func messagesOf(body asked) (all []object, err error) {
	if body.Instructions != "" {
		all = append(all, object{"role": "system", "content": body.Instructions})
	}
	if text := ""; json.Unmarshal(body.Input, &text) == nil {
		return append(all, object{"role": "user", "content": text}), nil
	}
	var items []item
	if err := json.Unmarshal(body.Input, &items); err != nil {
		return nil, err
	}
	for _, it := range items {
		if it.Role == "" {
			continue
		}
		content, err := contentOf(it.Content)
		if err != nil {
			return nil, err
		}
		all = append(all, object{"role": it.Role, "content": content})
	}
	return all, nil
}

// contentOf returns the content of an item as a message has it.
func contentOf(data json.RawMessage) (any, error) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text, nil
	}
	var parts []itemPart
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, err
	}
	content := []object{}
	for _, part := range parts {
		switch part.Type {
		case "input_text", "output_text":
			content = append(content, object{"type": "text", "text": part.Text})
		case "input_image":
			content = append(content, object{"type": "image_url", "image_url": object{"url": part.ImageURL}})
		case "input_file":
			file := object{"filename": part.Name, "file_data": part.Data}
			content = append(content, object{"type": "file", "file": file})
		default:
			content = append(content, object{"type": part.Type})
		}
	}
	return content, nil
}

// response is an answer as POST /v1/responses gives it; item is its message.
func (a *answer) response(status string, items ...any) object {
	if items == nil {
		items = []any{}
	}
	return object{
		"id": a.id, "object": "response", "created_at": a.created, "model": a.model, "status": status, "output": items,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "tools": []any{},
		"tool_choice": "auto", "parallel_tool_calls": false, "temperature": nil, "top_p": nil,
	}
}

func (a *answer) item(status string, content ...any) object {
	if content == nil {
		content = []any{}
	}
	return object{"id": "msg-" + a.id, "type": "message", "role": "assistant", "status": status, "content": content}
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// event is an event of a stream of POST /v1/responses.
func (a *answer) event(kind string, members object) string {
	members["type"], members["sequence_number"] = kind, a.events
	a.events++
	data, _ := json.Marshal(members) // maps of strings and numbers
	return fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data)
}

// ofItem is an event about the message.
func (a *answer) ofItem(kind string, members object) string {
	members["item_id"], members["output_index"], members["content_index"] = "msg-"+a.id, 0, 0
	return a.event(kind, members)
}

// opening is the beginning of a stream. The caller holds a.mu.
func (a *answer) opening() string {
	return a.event("response.created", object{"response": a.response("in_progress")}) +
		a.event("response.in_progress", object{"response": a.response("in_progress")}) +
		a.event("response.output_item.added", object{"output_index": 0, "item": a.item("in_progress")}) +
		a.ofItem("response.content_part.added", object{"part": outputText("")})
}

// finishResponse ends an answer that goes on without an error, and returns it whole.
func (a *answer) finishResponse(reply host.Reply, cut bool) (whole object) {
	text, status := outputText(a.content.all.String()), "completed"
	if cut {
		status = "incomplete"
	}
	message := a.item(status, text)
	whole = a.response(status, message)
	if cut {
		whole["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	whole["usage"] = object{
		"input_tokens": reply.In, "input_tokens_details": object{"cached_tokens": reply.Cached},
		"output_tokens": reply.Out, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": reply.In + reply.Out,
	}
	if a.streams {
		a.writeEvents(func() string {
			return a.ofItem("response.output_text.done", object{"text": text["text"], "logprobs": []any{}}) +
				a.ofItem("response.content_part.done", object{"part": text}) +
				a.event("response.output_item.done", object{"output_index": 0, "item": message}) +
				a.event("response."+status, object{"response": whole})
		})
	}
	return whole
}
