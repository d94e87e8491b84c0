package share

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"io"
	"iter"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"lethe/internal/buckets"
	"lethe/internal/storekeys"
)

// bucket is a tree: PUT with If-None-Match: * creates a key once.
type bucket struct {
	client *minio.Core
	name   string
	root   string // begins each key
}

func openBucket(endpoint, at string, tls bool, region string) (e engine, err error) {
	name, root, _ := strings.Cut(at, "/")
	if region == "" && !strings.Contains(endpoint, "amazonaws.com") {
		region = "us-east-1" // which MinIO, versitygw and R2 take; and nobody has to be asked
	}
	keys, err := storekeys.Bucket()
	if err != nil {
		return e, err
	}
	transport, err := minio.DefaultTransport(tls)
	if err == nil {
		err = s3utils.CheckValidBucketName(name)
	}
	if err != nil {
		return e, err
	}
	meter := buckets.NewMeter(transport)
	client, err := minio.NewCore(endpoint, &minio.Options{
		Creds: keys.Credentials, Secure: tls, Region: region, Transport: meter, MaxRetries: 1,
	})
	b := bucket{client, name, cmp.Or(strings.Trim(root, "/"), "lethe") + "/"}
	t := tree{b.keys, b.forget}
	return engine{create: b.create, get: b.get, newest: t.newest, numbers: t.numbers,
		remove: t.remove, list: b.list, probe: b.probe, failed: keys.Refused, asked: meter.Asked,
		close: transport.CloseIdleConnections}, err
}

// create is one request. PutObject of minio.Client would upload a large text in parts, and ask for If-None-Match only as
// it begins.
func (b bucket) create(ctx context.Context, stream string, n int, text []byte) error {
	put := minio.PutObjectOptions{}
	put.SetMatchETagExcept("*")
	sum := md5.Sum(text) // on which a bucket that locks its objects insists
	_, err := b.client.PutObject(ctx, b.name, b.root+key(stream, n), bytes.NewReader(text), int64(len(text)),
		base64.StdEncoding.EncodeToString(sum[:]), "", put)
	return err
}

func (b bucket) get(ctx context.Context, stream string, n int) ([]byte, error) {
	body, _, _, err := b.client.GetObject(ctx, b.name, b.root+key(stream, n), minio.GetObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, mostFramed))
}

func (b bucket) keys(ctx context.Context, stream string, page int) iter.Seq2[string, error] {
	return b.names(ctx, minio.ListObjectsOptions{Prefix: b.root + escape(stream) + "/", Recursive: true, MaxKeys: page})
}

// names lists the bucket below its root.
func (b bucket) names(ctx context.Context, options minio.ListObjectsOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o := range b.client.ListObjectsIter(ctx, b.name, options) {
			if !yield(strings.TrimPrefix(o.Key, b.root), o.Err) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // the client does not tell it
			yield("", err)
		}
	}
}

func (b bucket) forget(ctx context.Context, key string) error {
	return b.client.RemoveObject(ctx, b.name, b.root+key, minio.RemoveObjectOptions{})
}

func (b bucket) list(ctx context.Context, prefix string) (streams []string, err error) {
	for name, err := range b.names(ctx, minio.ListObjectsOptions{Prefix: b.root + escape(prefix)}) {
		if err != nil {
			return nil, err
		}
		if dir, is := strings.CutSuffix(name, "/"); is {
			streams = append(streams, unescape(dir))
		}
	}
	return streams, nil
}

func (b bucket) probe(ctx context.Context) (all []Finding) {
	lose, keep := buckets.Wrong(ctx, b.client.Client, b.name, b.root)
	for _, text := range lose {
		all = append(all, Finding{Trouble, text})
	}
	for _, text := range keep {
		all = append(all, Finding{Warning, text})
	}
	return all
}
