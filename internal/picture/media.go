package picture

import (
	"cmp"
	"mime"
	"net/http"
	"path"
	"strings"
)

// MediaType returns the media type of a file, without parameters. It takes the type that the sender told; without a
// usable one it goes by the ending of the name, and then by the first bytes of data.
func MediaType(told, name string, data []byte) string {
	kind, _, err := mime.ParseMediaType(told)
	if err != nil || kind == "application/octet-stream" {
		kind = cmp.Or(mime.TypeByExtension(path.Ext(name)), http.DetectContentType(data))
		kind, _, _ = strings.Cut(kind, ";")
	}
	return kind
}

// MediaKind returns the word for a file of a media type in a line of a room: "photo", "audio", "video" or "document".
func MediaKind(of string) string {
	switch major, _, _ := strings.Cut(of, "/"); major {
	case "image":
		return "photo"
	case "audio", "video":
		return major
	}
	return "document"
}
