package share

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"

	"lethe/internal/secret"
)

// bucket is a tree: PUT with If-None-Match: * creates a key once. Its few requests are made here, since the whole
// client of a library is 1 MB of the program.
type bucket struct {
	transport *http.Transport
	keys      *credentials.Credentials
	at        url.URL
	region    atomic.Pointer[string]
	root      string // begins each key
}

func openBucket(endpoint, at string, tls bool, region string) (e engine, err error) {
	name, root, _ := strings.Cut(at, "/")
	id := secret.Value("AWS_ACCESS_KEY_ID")
	keys := credentials.NewStaticV4(id, secret.Value("AWS_SECRET_ACCESS_KEY"), secret.Value("AWS_SESSION_TOKEN"))
	if id == "" {
		keys = credentials.NewFileAWSCredentials("", "")
	}
	held, err := keys.GetWithContext(nil)
	if err == nil && held.AccessKeyID == "" {
		err = errors.New("there is no key")
	}
	if err != nil {
		return e, fmt.Errorf("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	secret.Add(held.SecretAccessKey, held.SessionToken)
	if err := s3utils.CheckValidBucketName(name); err != nil {
		return e, err
	}
	b := &bucket{keys: keys, root: cmp.Or(strings.Trim(root, "/"), "lethe") + "/"}
	b.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	b.at = url.URL{Scheme: "http", Host: endpoint, Path: "/"}
	if tls {
		b.at.Scheme = "https"
	}
	region = cmp.Or(region, s3utils.GetRegionFromURL(b.at), "us-east-1") // which MinIO, versitygw and R2 take
	b.region.Store(&region)
	if s3utils.IsVirtualHostSupported(b.at, name) {
		b.at.Host = name + "." + endpoint
	} else {
		b.at.Path += name + "/"
	}
	t := tree{b.stream, b.forget}
	return engine{create: b.create, get: b.get, newest: t.newest, numbers: t.numbers, remove: t.remove, list: b.list,
		probe: b.probe, close: b.transport.CloseIdleConnections}, nil
}

// refusal is how a bucket says no. AWS names the region that a request should have been signed for.
type refusal struct{ Code, Message, Region string }

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

// ask makes a request and returns the answer; two where the bucket names another region.
func (b *bucket) ask(ctx context.Context, method, key string, query url.Values, body []byte) (text []byte, err error) {
	for range 2 {
		text, err = b.once(ctx, method, key, query, body)
		refused, ok := errors.AsType[*refusal](err)
		if !ok || refused.Region == "" {
			break
		}
		b.region.Store(&refused.Region)
	}
	return text, err
}

func (b *bucket) once(ctx context.Context, method, key string, query url.Values, body []byte) ([]byte, error) {
	at := b.at
	at.Path += key
	at.RawPath, at.RawQuery = s3utils.EncodePath(at.Path), s3utils.QueryEncode(query)
	request, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	request.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(hash[:]))
	if method == http.MethodPut {
		sum := md5.Sum(body) // on which a bucket that locks its objects insists
		request.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
		request.Header.Set("If-None-Match", "*")
	}
	held, err := b.keys.GetWithContext(nil)
	if err != nil {
		return nil, err
	}
	signed := signer.SignV4(*request, held.AccessKeyID, held.SecretAccessKey, held.SessionToken, *b.region.Load())
	answer, err := b.transport.RoundTrip(signed)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil || answer.StatusCode/100 == 2 {
		return text, err
	}
	refused := &refusal{Code: answer.Status}
	_ = xml.Unmarshal(text, refused) // else the status is all that there is to tell
	return nil, refused
}

// mostAnswer is more bytes than a text has, or a listing of a thousand keys.
const mostAnswer = 4 << 20

func (b *bucket) create(ctx context.Context, stream string, n int, text []byte) error {
	_, err := b.ask(ctx, http.MethodPut, b.root+key(stream, n), nil, text)
	return err
}

func (b *bucket) get(ctx context.Context, stream string, n int) ([]byte, error) {
	text, err := b.ask(ctx, http.MethodGet, b.root+key(stream, n), nil, nil)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.Code == "NoSuchKey" {
		return nil, ErrMissing
	}
	return text[:min(len(text), mostFramed)], err
}

func (b *bucket) stream(ctx context.Context, stream string, page int) iter.Seq2[string, error] {
	return b.names(ctx, url.Values{"prefix": {b.root + escape(stream) + "/"}, "max-keys": {strconv.Itoa(page)}})
}

// names lists the bucket below its root.
func (b *bucket) names(ctx context.Context, query url.Values) iter.Seq2[string, error] {
	query.Set("list-type", "2")
	query.Set("encoding-type", "url") // a stray key may have a letter that XML has not
	return func(yield func(string, error) bool) {
		for {
			var page listing
			text, err := b.ask(ctx, http.MethodGet, "", query, nil)
			if err == nil {
				err = xml.Unmarshal(text, &page)
			}
			isEndless := page.IsTruncated && page.Token == query.Get("continuation-token")
			if err == nil && isEndless {
				err = errors.New("the bucket tells no next page")
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, name := range append(page.Keys, page.Prefixes...) {
				if page.Encoding == "url" {
					name, err = url.QueryUnescape(name)
				}
				if !yield(strings.TrimPrefix(name, b.root), err) {
					return
				}
			}
			if !page.IsTruncated {
				return
			}
			query.Set("continuation-token", page.Token)
		}
	}
}

// listing is a page of a bucket's names.
type listing struct {
	Encoding    string `xml:"EncodingType"`
	IsTruncated bool
	Token       string   `xml:"NextContinuationToken"`
	Keys        []string `xml:"Contents>Key"`
	Prefixes    []string `xml:"CommonPrefixes>Prefix"`
}

func (b *bucket) forget(ctx context.Context, key string) error {
	_, err := b.ask(ctx, http.MethodDelete, b.root+key, nil, nil)
	return err
}

func (b *bucket) list(ctx context.Context, prefix string) (streams []string, err error) {
	for name, err := range b.names(ctx, url.Values{"prefix": {b.root + escape(prefix)}, "delimiter": {"/"}}) {
		if err != nil {
			return nil, err
		}
		if dir, is := strings.CutSuffix(name, "/"); is {
			streams = append(streams, unescape(dir))
		}
	}
	return streams, nil
}

func (b *bucket) probe(ctx context.Context) []Finding {
	var versions struct{ Status string }
	text, err := b.ask(ctx, http.MethodGet, "", url.Values{"versioning": {""}}, nil)
	if err == nil {
		err = xml.Unmarshal(text, &versions)
	}
	if err != nil || versions.Status != "Enabled" {
		return nil // not each server answers, nor may everybody ask
	}
	return []Finding{{Warning, "the bucket keeps versions, so what is deleted or erased stays in it: give it a " +
		"lifecycle rule that expires noncurrent versions"}}
}
