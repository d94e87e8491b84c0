package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"slices"
	"strings"

	"lethe/bridge"
)

const (
	maxCaption = 1024     // UTF-16 units of the text below a file
	maxPhoto   = 10 << 20 // bytes of a file that is shown as a picture
)

// shown reports whether Telegram shows files as pictures: all of them, or none.
func shown(files []bridge.Attached) bool {
	return len(files) > 0 && !slices.ContainsFunc(files, func(f bridge.Attached) bool {
		return !slices.Contains(photoTypes, f.Type) || f.Size > maxPhoto
	})
}

var photoTypes = []string{"image/jpeg", "image/png", "image/webp"}

// words puts the text of a parcel among the parameters of a method.
func (out parcel) words(params object, name string) {
	params[name] = out.Text
	if out.HTML != "" {
		params[name], params["parse_mode"] = out.HTML, "HTML"
	}
}

// unsent says in the text of a parcel why files of it are not sent.
func (out parcel) unsent(why string, files ...bridge.Attached) parcel {
	for _, f := range files {
		out.Text, out.HTML = strings.TrimSpace(out.Text+"\n"+f.Tag+": not sent, "+why), ""
	}
	return out
}

// upload sends the files of a parcel. Of one that cannot be read its text says so.
func (s *session) upload(ctx context.Context, chat int64, params object, out parcel) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.tune.upload)
	defer cancel()
	kind, method := "document", "sendDocument"
	if out.Photos {
		kind, method = "photo", "sendPhoto"
	}
	var body bytes.Buffer // which takes all of the form
	form := multipart.NewWriter(&body)
	var media []object
	for i, f := range out.Files {
		b, err := s.cfg.Store.Get(f.Hash)
		if err != nil || b.Gone != nil {
			out = out.unsent("it was erased, or is damaged", f)
			continue
		}
		field := fmt.Sprint("file", i)
		file, _ := form.CreateFormFile(field, f.Name)
		_, _ = file.Write(b.Body)
		media = append(media, object{"type": kind, "media": "attach://" + field})
	}
	switch len(media) {
	case 0:
		out.Files = nil
		return s.message(ctx, chat, out)
	case 1:
		params[kind] = media[0]["media"]
		out.words(params, "caption")
	default:
		method, params["media"] = "sendMediaGroup", media
		out.words(media[0], "caption")
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
