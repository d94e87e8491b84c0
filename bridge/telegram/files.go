package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"slices"

	"lethe/bridge"
)

const maxCaption = 1024 // UTF-16 units of the text below a file

// pictures reports whether Telegram may show files as pictures, which it does with all or no file of a message.
func pictures(files []bridge.Attached) bool {
	return len(files) > 0 && !slices.ContainsFunc(files, func(f bridge.Attached) bool {
		return f.Kind != "photo" || f.Type == "image/gif"
	})
}

// words puts the text of a parcel among the parameters of a method.
func (out parcel) words(params object, name string) {
	params[name] = out.Text
	if out.HTML != "" {
		params[name], params["parse_mode"] = out.HTML, "HTML"
	}
}

// upload sends the files of a parcel.
func (s *session) upload(ctx context.Context, params object, out parcel) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.upload)
	defer cancel()
	kind := "document"
	if out.Pictures {
		kind = "photo"
	}
	var body bytes.Buffer // which takes all of the form
	form := multipart.NewWriter(&body)
	var album []object
	for i, f := range out.Files {
		b, _ := s.cfg.Store.Get(f.Hash) // an erased one is empty, and Telegram takes no empty file
		field := fmt.Sprint("file", i)
		file, _ := form.CreateFormFile(field, f.Name)
		_, _ = file.Write(b.Body)
		album = append(album, object{"type": kind, "media": "attach://" + field})
	}
	method := "send" + kind // in any case
	if len(album) == 1 {
		params[kind] = album[0]["media"]
		out.words(params, "caption")
	} else {
		method, params["media"] = "sendMediaGroup", album
		out.words(album[0], "caption")
	}
	for name, value := range params {
		text, ok := value.(string)
		if !ok {
			raw, _ := json.Marshal(value) // cannot fail
			text = string(raw)
		}
		_ = form.WriteField(name, text)
	}
	_ = form.Close()
	return s.api.post(ctx, method, form.FormDataContentType(), body.Bytes(), new(json.RawMessage))
}
