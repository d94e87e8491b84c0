package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"lethe/agent/host"
	"lethe/bridge/serve/backend"
)

// apiError is an error with its status and perhaps a word of OpenAI's for it.
type apiError struct {
	error
	status int
	code   string
}

func fault(status int, code, format string, args ...any) error {
	return &apiError{fmt.Errorf(format, args...), status, code}
}

// refuse makes an error of what a client has sent.
func refuse(format string, args ...any) error {
	return fault(http.StatusBadRequest, "", format, args...)
}

// asAPI makes of any error its status and its JSON, as OpenAI's clients read it.
func asAPI(err error) (status int, body any) {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = &apiError{err, backend.Status(err), ""}
	}
	about := map[string]string{"message": e.Error(), "type": "invalid_request_error"}
	if e.status >= 500 {
		about["type"] = "server_error"
	}
	if e.code != "" {
		about["code"] = e.code
	}
	return e.status, object{"error": about}
}

// stopped says that nobody runs an identity.
func stopped(name string) error {
	return fault(http.StatusServiceUnavailable, "not_running",
		"%[1]s is not running; start it with: lethe run %[1]s", name)
}

// paused says why an identity does not answer.
func paused(p *host.PausedError) error {
	text := fmt.Sprintf("%s is paused: %s", p.Name, p.Why)
	if !p.Until.IsZero() {
		text += ", until " + p.Until.Format(time.RFC3339)
	}
	if p.Until.IsZero() && !strings.Contains(p.Why, "(budget.") {
		return fault(http.StatusServiceUnavailable, "paused", "%s", text)
	}
	return fault(http.StatusPaymentRequired, "insufficient_quota", "%s; say /budget +1 today to raise the limit", text)
}
