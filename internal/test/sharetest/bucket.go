package sharetest

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// Keys of the bucket.
const (
	user   = "lethe-test"
	secret = "a-secret-of-tests-0"
)

// Gateway is an S3 server over a directory.
type Gateway struct {
	Address  string
	Dir      string            // of the bucket
	Settings map[string]string // what a Strict one answers, by kind
}

// Bucket starts versitygw with one bucket, or a lesser server of this process where versitygw, which takes minutes to
// build, is not installed.
func Bucket(t testing.TB) *Gateway {
	t.Helper()
	dir := t.TempDir()
	gateway := &Gateway{Dir: filepath.Join(dir, "home")}
	lethetest.Must(t, os.Mkdir(gateway.Dir, 0o700))
	program, err := exec.LookPath("versitygw")
	if err != nil {
		program = filepath.Join(build.Default.GOPATH, "bin", "versitygw") // where go install puts it
		_, err = os.Stat(program)
	}
	if err != nil {
		server := httptest.NewServer(http.StripPrefix("/home/", lesser(gateway.Dir)))
		t.Cleanup(server.Close)
		gateway.Address = server.Listener.Addr().String()
		return gateway
	}
	gateway.Address = fmt.Sprintf("127.0.0.1:%d", ports(t, 1)[0])
	cmd := exec.Command("sh", "-c", `"$@" & cat; kill -9 $!`, "sh",
		program, "--port", gateway.Address, "--access", user, "--secret", secret, "--quiet", "posix", dir)
	cmd.Dir = t.TempDir()
	process := start(t, cmd)
	t.Cleanup(func() {
		process.input.Close()
		_ = process.Wait()
	})
	lethetest.Eventually(t, "versitygw listens", func() bool {
		c, err := net.Dial("tcp", gateway.Address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return gateway
}

// Strict starts the lesser server, which refuses requests whose key is not taken.
func Strict(t testing.TB, takes func(id, token string) bool) *Gateway {
	t.Helper()
	gateway := &Gateway{Dir: filepath.Join(t.TempDir(), "home")}
	lethetest.Must(t, os.Mkdir(gateway.Dir, 0o700))
	files := http.StripPrefix("/home/", lesser(gateway.Dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, id, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		id, _, _ = strings.Cut(id, "/")
		if !takes(id, r.Header.Get("X-Amz-Security-Token")) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<Error><Code>InvalidAccessKeyId</Code><Message>nobody has the key %s</Message></Error>", id)
			return
		}
		for kind, text := range gateway.Settings {
			if r.URL.Query().Has(kind) {
				_, _ = io.WriteString(w, text)
				return
			}
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	gateway.Address = server.Listener.Addr().String()
	return gateway
}

// Keys sets the environment so that Open finds the keys of a Bucket.
func Keys() {
	os.Setenv("AWS_ACCESS_KEY_ID", user)
	os.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

// URL returns the URL of a home in the bucket, by way of a proxy if there is one.
func (g *Gateway) URL(home string, proxy ...string) string {
	return "s3+http://" + append(proxy, g.Address)[0] + "/home/" + home
}

// lesser is a bucket in a directory, with the requests that Lethe makes. It checks no key.
type lesser string

func (l lesser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := filepath.Join(string(l), filepath.FromSlash(r.URL.Path))
	w.Header().Set("ETag", `"none"`)
	var err error
	switch r.Method {
	case http.MethodGet:
		if r.URL.Path == "" {
			l.list(w, r)
			return
		}
		if _, err = os.Stat(path); err == nil {
			http.ServeFile(w, r, path)
		}
	case http.MethodPut:
		err = l.put(path, r)
	case http.MethodDelete:
		_ = os.Remove(path)
		w.WriteHeader(http.StatusNoContent)
	default:
		err = errors.ErrUnsupported
	}
	status, code := http.StatusInternalServerError, "InternalError"
	switch {
	case err == nil:
		return
	case errors.Is(err, fs.ErrExist):
		status, code = http.StatusPreconditionFailed, "PreconditionFailed"
	case errors.Is(err, fs.ErrNotExist):
		status, code = http.StatusNotFound, "NoSuchKey"
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// put reads the signed chunks of a body, and links them as a file.
func (l lesser) put(path string, r *http.Request) error {
	if r.Header.Get("If-None-Match") != "*" {
		return errors.ErrUnsupported
	}
	file, err := os.CreateTemp(filepath.Dir(string(l)), "put")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	for body := bufio.NewReader(r.Body); err == nil; {
		line, _ := body.ReadString('\n')
		size, _, _ := strings.Cut(line, ";")
		n, bad := strconv.ParseInt(size, 16, 64)
		if bad != nil {
			return bad
		}
		if n == 0 {
			break
		}
		if _, err = io.CopyN(file, body, n); err == nil {
			_, err = body.Discard(len("\r\n"))
		}
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.Link(file.Name(), path)
	}
	return err
}

// list answers ListObjectsV2.
func (l lesser) list(w http.ResponseWriter, r *http.Request) {
	type key struct{ Key string }
	type prefix struct{ Prefix string }
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []key
		CommonPrefixes        []prefix
	}
	asked := r.URL.Query()
	begin := asked.Get("prefix")
	var keys []string
	below := filepath.Join(string(l), filepath.Dir(begin+"x"))
	_ = filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(string(l), path)
			keys = append(keys, name)
		}
		return nil
	})
	slices.Sort(keys)
	most, _ := strconv.Atoi(asked.Get("max-keys"))
	if most == 0 {
		most = 1000
	}
	last := asked.Get("continuation-token")
	for _, name := range keys {
		rest, is := strings.CutPrefix(name, begin)
		dir, _, folded := strings.Cut(rest, "/")
		if folded = folded && asked.Get("delimiter") != ""; folded {
			name = begin + dir + "/"
		}
		if !is || name <= last {
			continue
		}
		if len(answer.Contents)+len(answer.CommonPrefixes) == most {
			answer.IsTruncated, answer.NextContinuationToken = true, last
			break
		}
		last = name
		if folded {
			answer.CommonPrefixes = append(answer.CommonPrefixes, prefix{name})
		} else {
			answer.Contents = append(answer.Contents, key{name})
		}
	}
	_ = xml.NewEncoder(w).Encode(answer)
}
