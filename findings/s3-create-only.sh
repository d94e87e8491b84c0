#!/usr/bin/env bash
# minio-go 7.4.1: "create only" (SetMatchETagExcept("*")) holds up to 16 MiB; a larger PutObject completes without it.
#
# Guess:    If-None-Match: * of the options goes with the request that makes the object appear, whatever its size.
# Behaviour: above 16 MiB the object goes up in parts. The header goes with the request that begins the upload, where S3 has
#           no such condition, and not with the one that completes it, where S3 has: the object replaces one of that name.
# Remedy:   DisableMultipart with the size (5 GiB at most), or Core.PutObject; look that a large second put is refused.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// sent tells the requests of a PutObject of this size, with the condition of each.
func sent(size int) (requests string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		kind := "put"
		switch q := r.URL.Query(); {
		case r.Method == "POST" && q.Has("uploads"):
			kind = "begin"
			fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == "POST":
			kind = "complete"
			fmt.Fprint(w, `<CompleteMultipartUploadResult><Bucket>bucket</Bucket><ETag>"1"</ETag></CompleteMultipartUploadResult>`)
		case q.Has("partNumber"):
			w.Header().Set("ETag", `"1"`)
			return
		}
		w.Header().Set("ETag", `"1"`)
		requests += fmt.Sprintf("[%s If-None-Match=%s]", kind, r.Header.Get("If-None-Match"))
	}))
	defer server.Close()
	client, err := minio.New(strings.TrimPrefix(server.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4("id", "secret", ""), Region: "us-east-1",
	})
	if err != nil {
		panic(err)
	}
	var opts minio.PutObjectOptions
	opts.SetMatchETagExcept("*")
	_, err = client.PutObject(context.Background(), "bucket", "name", bytes.NewReader(make([]byte, size)), int64(size), opts)
	if err != nil {
		panic(err)
	}
	return requests
}

func main() {
	small, large := sent(1<<20), sent(17<<20)
	fmt.Printf(" 1 MiB: %s\n17 MiB: %s\n", small, large)
	if small != "[put If-None-Match=*]" || large != "[begin If-None-Match=*][complete If-None-Match=]" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/minio/minio-go/v7@v7.4.1 >/dev/null 2>&1
echo "minio-go v7.4.1, $(go version)"
go run .
