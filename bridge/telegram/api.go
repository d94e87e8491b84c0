package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lethe/bridge"
	"lethe/internal/pattern"
)

// ErrToken is wrapped by the error of Run when Telegram does not know the
// token: it was mistyped, or revoked. Nothing but another token helps.
var ErrToken = errors.New("telegram does not accept the token")

var tokenForm = pattern.Lazy(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$`)

// ReadToken reads the bot's token from a file of its owner alone, which holds one line: see bridge.ReadToken.
func ReadToken(path string) (string, error) {
	const most = 256 // bytes; tokens are about 46 long
	wrong := fmt.Errorf("%s does not hold a token in one line, as in 123456:ABC-def", path)
	token, err := bridge.ReadToken(path, most, tokenForm().MatchString, wrong)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return token, nil
}

// CheckToken refuses what cannot be a token, and would otherwise end up in URLs, with an error
// that wraps ErrToken and says nothing of it.
func CheckToken(token string) error {
	if token == "" {
		return fmt.Errorf("%w: there is none", ErrToken)
	}
	if !tokenForm().MatchString(token) {
		return fmt.Errorf("%w: it is not of the form 123456:ABC-def", ErrToken)
	}
	return nil
}

// apiError is a refusal, by the Bot API or of a download.
type apiError struct {
	Code        int
	Description string
	RetryAfter  time.Duration // with code 429
	MigrateTo   int64         // the group has become this supergroup
}

func (e *apiError) Error() string {
	switch {
	case e.MigrateTo != 0:
		return "the group has become a supergroup"
	case e.Code == http.StatusTooManyRequests:
		return "telegram asks to wait" // without the time: the error is told once
	}
	return fmt.Sprintf("telegram answers %d: %s", e.Code, e.Description)
}

// answered is the code of an answer that is a refusal, or 0.
func answered(err error) int {
	if refusal := new(apiError); errors.As(err, &refusal) {
		return refusal.Code
	}
	return 0
}

// api is the way to one Bot API server with one token. Its errors never hold
// the token.
//
// No library is used: there, an answer to sendMessage that holds something new is an error like
// any other, and the message would be sent again and again.
type api struct {
	base, token string
	scrub       func(string) string // takes the token out of texts from outside: servers and proxies repeat the address
	client      *http.Client
}

func newAPI(base, token string) *api {
	_, secret, _ := strings.Cut(token, ":")
	scrub := strings.NewReplacer(token, "<token>", url.QueryEscape(token), "<token>", secret, "<token>").Replace
	return &api{base, token, scrub, newClient()}
}

// newClient returns an HTTP client whose requests are bounded by their contexts
// alone. It speaks HTTP/1.1, where a request that ran out of time takes its
// connection with it; a dead HTTP/2 connection goes on taking requests. It
// follows no redirect, since the address holds the token.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     60 * time.Second,
			MaxIdleConnsPerHost: 4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call asks method and decodes the result into dest.
func (a *api) call(ctx context.Context, method string, params, dest any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return a.post(ctx, method, "application/json", body, dest)
}

// post asks method, with parameters in a form that kind names.
func (a *api) post(ctx context.Context, method, kind string, body []byte, dest any) error {
	const most = 16 << 20 // a hundred updates are well below 4 MB
	status, data, err := a.do(ctx, http.MethodPost, "/bot"+a.token+"/"+method, kind, body, most)
	if err == nil {
		err = a.decode(status, data, dest)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// download returns the content of a file that getFile has prepared. One of more than most bytes is
// errTooLarge.
func (a *api) download(ctx context.Context, path string, most int64) ([]byte, error) {
	at := "/file/bot" + a.token + "/" + (&url.URL{Path: path}).EscapedPath()
	status, data, err := a.do(ctx, http.MethodGet, at, "", nil, most)
	if err == nil && status != http.StatusOK {
		err = &apiError{Code: status, Description: http.StatusText(status)}
	}
	return data, err
}

// errTooLarge is the error of an answer that is longer than asked for.
var errTooLarge = errors.New("it is larger than a bot can fetch")

// do makes a request, and returns the status and the body of the answer, of at most most bytes.
func (a *api) do(
	ctx context.Context, method, path, kind string, body []byte, most int64,
) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, a.clean(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, a.clean(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(data)) > most {
		err = errTooLarge
	}
	return resp.StatusCode, data, a.clean(err)
}

// clean returns err without the token. An error that never had it stays what it is; of a
// *url.Error, whose text is the whole address, only the cause is kept.
func (a *api) clean(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	if err == nil || a.scrub(err.Error()) == err.Error() {
		return err
	}
	return errors.New(a.scrub(err.Error()))
}

// decode reads an answer. What is not of the Bot API's form came from something
// in between, whatever its status says, and is not a refusal.
func (a *api) decode(status int, data []byte, dest any) error {
	var answer struct {
		OK          *bool           `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Description string          `json:"description"`
		Code        int             `json:"error_code"`
		Parameters  struct {
			RetryAfter int   `json:"retry_after"`
			MigrateTo  int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	alien := fmt.Errorf("the answer (HTTP %d) is not the bot api's", status)
	if json.Unmarshal(data, &answer) != nil || answer.OK == nil {
		return alien
	}
	if !*answer.OK {
		refusal := &apiError{
			Code: answer.Code, Description: bridge.Clip(a.scrub(answer.Description), 200),
			MigrateTo: answer.Parameters.MigrateTo,
		}
		if answer.Code == http.StatusTooManyRequests {
			refusal.RetryAfter = time.Duration(min(max(answer.Parameters.RetryAfter, 1), 3600)) * time.Second
		}
		return refusal
	}
	if json.Unmarshal(answer.Result, dest) != nil {
		return alien
	}
	return nil
}
