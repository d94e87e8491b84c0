package share

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"lethe/internal/pattern"
)

// bucket is a tree: PUT with If-None-Match: * creates a key once.
type bucket struct {
	*client
	root string // begins each key
}

var (
	bucketName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:-]{1,61}[A-Za-z0-9]$`)
	awsRegion  = pattern.Lazy(`([a-z]{2}(?:-[a-z]+)+-\d)(?:\.vpce)?\.amazonaws\.com`)
)

func openBucket(endpoint, at string, tls bool, region string) (e engine, err error) {
	name, root, _ := strings.Cut(at, "/")
	c := &client{region: cmp.Or(region, regionOf(endpoint))}
	if c.keys, err = findKeys(); err != nil {
		return e, fmt.Errorf("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	if !bucketName().MatchString(name) {
		return e, errors.New("the name of a bucket has 3 to 63 letters, digits, dots and hyphens: s3://endpoint/bucket/prefix")
	}
	scheme := map[bool]string{false: "http://", true: "https://"}[tls]
	if c.base, err = url.Parse(scheme + endpoint); err != nil {
		return e, err
	}
	c.base.Path = "/" + name + "/"
	if strings.Contains(endpoint, ".amazonaws.com") && !strings.Contains(name, ".") {
		c.base.Host, c.base.Path = name+"."+endpoint, "/"
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.ResponseHeaderTimeout = 16, time.Minute
	c.http.Transport, transport.DisableCompression = transport, true
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b := bucket{c, cmp.Or(strings.Trim(root, "/"), "lethe") + "/"}
	t := tree{b.keys, b.forget}
	return engine{create: b.create, get: b.get, newest: t.newest, numbers: t.numbers,
		remove: t.remove, list: b.list, probe: b.probe,
		close: transport.CloseIdleConnections}, nil
}

// regionOf takes the region from a name of AWS. MinIO, versitygw and R2 take us-east-1.
func regionOf(endpoint string) string {
	if found := awsRegion().FindStringSubmatch(endpoint); found != nil {
		return found[1]
	}
	return "us-east-1"
}

func (b bucket) create(ctx context.Context, stream string, n int, text []byte) error {
	_, err := b.ask(ctx, http.MethodPut, b.root+key(stream, n), nil, text)
	return err
}

func (b bucket) get(ctx context.Context, stream string, n int) ([]byte, error) {
	return b.ask(ctx, http.MethodGet, b.root+key(stream, n), nil, nil)
}

func (b bucket) keys(ctx context.Context, stream string, page int) iter.Seq2[string, error] {
	return b.names(ctx, url.Values{"prefix": {b.root + escape(stream) + "/"}, "max-keys": {strconv.Itoa(page)}})
}

// names lists the bucket below its root.
func (b bucket) names(ctx context.Context, query url.Values) iter.Seq2[string, error] {
	query.Set("list-type", "2")
	return func(yield func(string, error) bool) {
		for more := true; more; {
			var page struct {
				Contents, CommonPrefixes []struct{ Key, Prefix string }
				IsTruncated              bool
				NextContinuationToken    string
			}
			text, err := b.ask(ctx, http.MethodGet, "", query, nil)
			if err == nil {
				err = xml.Unmarshal(text, &page)
			}
			if more = page.IsTruncated; more && page.NextContinuationToken == "" {
				err = errors.New("the server says that there is more, but not where")
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, one := range append(page.Contents, page.CommonPrefixes...) {
				if !yield(strings.TrimPrefix(one.Key+one.Prefix, b.root), nil) {
					return
				}
			}
			query.Set("continuation-token", page.NextContinuationToken)
		}
	}
}

func (b bucket) forget(ctx context.Context, key string) error {
	_, err := b.ask(ctx, http.MethodDelete, b.root+key, nil, nil)
	return err
}

func (b bucket) list(ctx context.Context, prefix string) (streams []string, err error) {
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

func (b bucket) probe(ctx context.Context) []Finding {
	text, err := b.ask(ctx, http.MethodGet, "", url.Values{"versioning": {""}}, nil)
	if err != nil || !strings.Contains(string(text), "<Status>Enabled<") {
		return nil // not each server answers, nor may everybody ask
	}
	return []Finding{{Warning, "the bucket keeps versions, so what is deleted or erased stays in it: give it a " +
		"lifecycle rule that expires noncurrent versions"}}
}
