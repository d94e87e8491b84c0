package rehearsal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg" // kinds that all providers take
	_ "image/png"
	"strings"
)

// maxEdge is the longest side of a picture, in pixels, that a provider does not scale down.
const maxEdge = 1568

// read has the model read a request with pictures: their places are in the texts before them. It refuses parts as
// strict providers do.
func read(body []byte, saw func(string)) ([]byte, error) {
	var request map[string]json.RawMessage
	var messages []map[string]json.RawMessage
	if json.Unmarshal(body, &request) != nil || json.Unmarshal(request["messages"], &messages) != nil {
		return body, nil // the model names the fault
	}
	seen := false
	for i, m := range messages {
		if !bytes.HasPrefix(m["content"], []byte("[")) {
			continue
		}
		seen = true
		text, err := texts(m["content"], saw)
		if string(m["role"]) != `"user"` || len(m) != 2 {
			err = fmt.Errorf("only user messages may have parts, and nothing beside them")
		}
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		m["content"], _ = json.Marshal(text)
	}
	if !seen {
		return body, nil
	}
	var err error
	if request["messages"], err = json.Marshal(messages); err == nil {
		body, err = json.Marshal(request)
	}
	return body, err
}

type part struct {
	Type  string  `json:"type"`
	Text  *string `json:"text"`
	Image *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func texts(content []byte, saw func(string)) (text string, err error) {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	var parts []part
	if err := dec.Decode(&parts); err != nil {
		return "", err
	}
	for _, part := range parts {
		hasText := part.Text != nil && strings.TrimSpace(*part.Text) != ""
		isText := part.Type == "text" && hasText
		isImage := part.Type == "image_url" && part.Text == nil
		switch {
		case isText && part.Image == nil:
			text += *part.Text
		case isImage && part.Image != nil:
			err = look(part.Image.URL, saw)
		default:
			err = fmt.Errorf("a part of type %q is not as it has to be", part.Type)
		}
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// look refuses what is no picture in full.
func look(url string, saw func(string)) error {
	kind, data, ok := strings.Cut(url, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(data)
	if !ok || err != nil {
		return fmt.Errorf("no data URL: %.40s: %w", url, err)
	}
	m, format, err := image.Decode(bytes.NewReader(raw))
	if err != nil || kind != "data:image/"+format {
		return fmt.Errorf("could not process %s: %w", kind, err)
	}
	size := m.Bounds().Size()
	if max(size.X, size.Y) > maxEdge {
		return fmt.Errorf("a picture has %d by %d pixels", size.X, size.Y)
	}
	if saw != nil {
		saw(fmt.Sprintf("image/%s %dx%d", format, size.X, size.Y))
	}
	return nil
}
