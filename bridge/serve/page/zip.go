package page

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// zip has a handler's texts sent compressed to who takes that: a page then has an eighth of its bytes. Nothing in a page
// is a secret that the length of an answer could tell.
func zip(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h(w, r)
			return
		}
		z := &zipped{ResponseWriter: w}
		h(z, r)
		if z.to != nil {
			_ = z.to.Close() // the browser may be gone
		}
	}
}

type zipped struct {
	http.ResponseWriter
	to *gzip.Writer // nil as long as there is no body
}

func (z *zipped) WriteHeader(status int) {
	z.Header().Del("Content-Length")
	if status == http.StatusOK || status >= http.StatusBadRequest {
		z.Header().Set("Content-Encoding", "gzip")
		z.to = gzip.NewWriter(z.ResponseWriter)
	}
	z.ResponseWriter.WriteHeader(status)
}

func (z *zipped) Write(text []byte) (int, error) {
	if z.to == nil {
		return z.ResponseWriter.Write(text)
	}
	return z.to.Write(text)
}
