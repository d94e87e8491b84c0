package share

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lethe/internal/secret"
)

// client asks a server that speaks S3.
type client struct {
	http   http.Client
	base   *url.URL // of the bucket, with a slash at its end
	region string

	mu   sync.Mutex
	keys awsKeys
}

// ask makes one request about a key, or about the bucket if key is "". A body is put where nothing is.
func (c *client) ask(ctx context.Context, method, key string, query url.Values, body []byte) ([]byte, error) {
	at := *c.base
	at.Path += key
	at.RawPath = strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(at.Path))
	at.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	r, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPut {
		r.Header.Set("If-None-Match", "*")
		sum := md5.Sum(body) // on which a bucket that locks its objects insists
		r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	keys, err := c.current()
	if err != nil {
		return nil, err
	}
	keys.sign(r, body, c.region, time.Now())
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostFramed))
	if err != nil || answer.StatusCode/100 == 2 {
		return text, err
	}
	var said struct{ Code, Message string }
	_ = xml.Unmarshal(text, &said) // a server may refuse without a word
	if answer.StatusCode == http.StatusNotFound && key != "" && cmp.Or(said.Code, "NoSuchKey") == "NoSuchKey" {
		return nil, ErrMissing
	}
	return nil, fmt.Errorf("%s: %s %s", answer.Status, cmp.Or(said.Message, said.Code), answer.Header.Get("X-Amz-Bucket-Region"))
}

// current returns keys that are valid for a minute and more.
func (c *client) current() (_ awsKeys, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.keys.Expiration.IsZero() && time.Until(c.keys.Expiration) < time.Minute {
		c.keys, err = findKeys()
	}
	return c.keys, err
}

// awsKeys sign requests. The names are those that a credential_process writes.
type awsKeys struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      time.Time
}

// findKeys takes the keys of the environment, else those of the profile in ~/.aws. If a profile has none, its
// credential_process is asked, or the aws program, which knows how to sign in.
func findKeys() (k awsKeys, err error) {
	k.AccessKeyID, k.SecretAccessKey = secret.Value("AWS_ACCESS_KEY_ID"), secret.Value("AWS_SECRET_ACCESS_KEY")
	k.SessionToken = secret.Value("AWS_SESSION_TOKEN")
	if k.AccessKeyID == "" {
		values := profile()
		k.AccessKeyID, k.SecretAccessKey = values["aws_access_key_id"], values["aws_secret_access_key"]
		k.SessionToken = values["aws_session_token"]
		if len(values) > 0 && k.AccessKeyID == "" {
			words := strings.Fields(cmp.Or(values["credential_process"], "aws configure export-credentials"))
			text, failed := exec.Command(words[0], words[1:]...).Output()
			if err = failed; err == nil {
				err = json.Unmarshal(text, &k)
			}
		}
	}
	if err == nil && (k.AccessKeyID == "" || k.SecretAccessKey == "") {
		err = errors.New("there is no key")
	}
	secret.Add(k.SecretAccessKey, k.SessionToken)
	return k, err
}

// profile reads a profile from ~/.aws: what its credentials say goes before what its config says.
func profile() map[string]string {
	home, _ := os.UserHomeDir()
	name, values := cmp.Or(os.Getenv("AWS_PROFILE"), "default"), map[string]string{}
	for _, file := range []string{
		cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws/config")),
		cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws/credentials")),
	} {
		text, _ := os.ReadFile(file)
		is := false
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			key, value, found := strings.Cut(line, "=")
			if section, begins := strings.CutPrefix(line, "["); begins {
				section, _, _ = strings.Cut(section, "]")
				is = strings.TrimPrefix(section, "profile ") == name
			} else if is && found {
				values[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
	}
	return values
}

// sign adds AWS Signature Version 4.
func (k awsKeys) sign(r *http.Request, body []byte, region string, now time.Time) {
	moment, sum := now.UTC().Format("20060102T150405Z"), fmt.Sprintf("%x", sha256.Sum256(body))
	names := "host;x-amz-content-sha256;x-amz-date"
	headers := "host:" + r.Host + "\nx-amz-content-sha256:" + sum + "\nx-amz-date:" + moment + "\n"
	r.Header.Set("X-Amz-Content-Sha256", sum)
	r.Header.Set("X-Amz-Date", moment)
	if k.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", k.SessionToken)
		names += ";x-amz-security-token"
		headers += "x-amz-security-token:" + k.SessionToken + "\n"
	}
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers, names, sum}, "\n")
	scope := moment[:8] + "/" + region + "/s3/aws4_request"
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", moment, scope, sha256.Sum256([]byte(request)))
	seal := []byte("AWS4" + k.SecretAccessKey)
	for _, part := range append(strings.Split(scope, "/"), text) {
		mac := hmac.New(sha256.New, seal)
		mac.Write([]byte(part))
		seal = mac.Sum(nil)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		k.AccessKeyID, scope, names, seal))
}
