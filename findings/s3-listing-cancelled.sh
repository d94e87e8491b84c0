#!/usr/bin/env bash
# minio-go 7.4.1: a listing by ListObjectsIter whose context is cancelled ends without an error.
#
# Guess:    a listing that did not see all of the bucket ends with an ObjectInfo that has Err, as ListObjects does it.
# Behaviour: ListObjects sends context.Canceled. ListObjectsIter, which its documentation offers as the same listing
#           without a channel, just ends: after the page that it has read, or before the first one. Whoever takes the
#           newest name, counts, or removes what is not listed, works on part of a bucket and is not told.
# Remedy:   look at ctx.Err() behind the loop.
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
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// page answers ListObjectsV2 with two of four keys.
func page(w http.ResponseWriter, r *http.Request) {
	const head = `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><MaxKeys>2</MaxKeys>`
	names, more := []string{"c", "d"}, "<IsTruncated>false</IsTruncated>"
	if r.URL.Query().Get("continuation-token") == "" {
		names, more = []string{"a", "b"}, "<IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken>"
	}
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, head, more)
	for _, name := range names {
		fmt.Fprintf(w, `<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>1</Size></Contents>`, name)
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(page))
	defer server.Close()
	client, err := minio.New(strings.TrimPrefix(server.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4("id", "secret", ""), Region: "us-east-1",
	})
	if err != nil {
		panic(err)
	}
	ok := true
	say := func(how, names string, err error, want string, wantErr error) {
		fmt.Printf("%-42s names %q, error %v\n", how, names, err)
		if names != want || !errors.Is(err, wantErr) {
			ok = false
		}
	}
	// Both are cancelled when the second of four names arrives.
	ctx, cancel := context.WithCancel(context.Background())
	names, failed := "", error(nil)
	for o := range client.ListObjectsIter(ctx, "bucket", minio.ListObjectsOptions{}) {
		if names += o.Key; o.Key == "b" {
			cancel()
		}
		failed = errors.Join(failed, o.Err)
	}
	say("ListObjectsIter, cancelled at the second:", names, failed, "ab", nil)

	names, failed = "", nil
	for o := range client.ListObjectsIter(ctx, "bucket", minio.ListObjectsOptions{}) {
		names, failed = names+o.Key, errors.Join(failed, o.Err)
	}
	say("ListObjectsIter, cancelled before:", names, failed, "", nil)

	names, failed = "", nil
	for o := range client.ListObjects(ctx, "bucket", minio.ListObjectsOptions{}) {
		names, failed = names+o.Key, errors.Join(failed, o.Err)
	}
	say("ListObjects, cancelled before:", names, failed, "", context.Canceled)
	if !ok {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/minio/minio-go/v7@v7.4.1 >/dev/null 2>&1
echo "minio-go v7.4.1, $(go version)"
go run .
