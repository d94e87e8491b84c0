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

// refuse makes the error of a request that makes no sense.
func refuse(format string, args ...any) error {
	return fault(http.StatusBadRequest, "", format, args...)
}

// asAPI makes of any error its status and its JSON, as OpenAI's clients read it.
func asAPI(err error) (status int, body any) {
	known, ok := errors.AsType[*apiError](err)
	if !ok {
		known = &apiError{err, backend.Status(err), ""}
	}
	about := object{"message": known.Error(), "type": "invalid_request_error", "param": nil, "code": nil}
	if known.status >= 500 {
		about["type"] = "server_error"
	}
	if known.code != "" {
		about["code"] = known.code
	}
	return known.status, object{"error": about}
}

// stopped says that nobody runs an identity.
func stopped(name string) error {
	return fault(http.StatusServiceUnavailable, "not_running",
		"%[1]s is not running; start it with: lethe run %[1]s", name)
}

// paused says why an identity does not answer.
func paused(pause *host.PausedError) error {
	text := fmt.Sprintf("%s is paused: %s", pause.Name, pause.Why)
	if !pause.Until.IsZero() {
		text += ", until " + pause.Until.Format(time.RFC3339)
	}
	if pause.Until.IsZero() && !strings.Contains(pause.Why, "(budget.") {
		return fault(http.StatusServiceUnavailable, "paused", "%s", text)
	}
	return fault(http.StatusPaymentRequired, "insufficient_quota", "%s; say /budget +1 today to raise the limit", text)
}
