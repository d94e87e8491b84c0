package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"lethe/agent"
	"lethe/bridge/serve/backend"
	"lethe/events"
)

// apiError is an error as OpenAI's clients read it.
type apiError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Code    string `json:"code,omitempty"`
	status  int
}

func (e *apiError) Error() string { return e.Message }

func refuse(param, format string, args ...any) error {
	return &apiError{Message: fmt.Sprintf(format, args...), Type: "invalid_request_error", Param: param, status: http.StatusBadRequest}
}

// fault is an error with a status and a word of its own.
func fault(status int, code, format string, args ...any) error {
	e := &apiError{Message: fmt.Sprintf(format, args...), Type: "invalid_request_error", Code: code, status: status}
	if status >= 500 {
		e.Type = "server_error"
	}
	return e
}

// asAPI is any error, with its JSON.
func asAPI(err error) (status int, body any) {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = fault(backend.Status(err), "", "%v", err).(*apiError)
	}
	return e.status, map[string]any{"error": e}
}

// stopped says that nobody runs an identity.
func stopped(id agent.Identity) error {
	return fault(http.StatusServiceUnavailable, "not_running", "%[1]s is not running; start it with: lethe run %[1]s", id.Name)
}

// paused says why an identity does not answer.
func paused(id agent.Identity, e events.Event) error {
	text := fmt.Sprintf("%s is paused: %s", id.Name, e.Text)
	if !e.Until.IsZero() {
		text += ", until " + e.Until.Format(time.RFC3339)
	}
	if e.Until.IsZero() && !strings.Contains(e.Text, "(budget.") {
		return fault(http.StatusServiceUnavailable, "paused", "%s", text)
	}
	return fault(http.StatusPaymentRequired, "insufficient_quota", "%s; say /budget +1 today to raise the limit", text)
}
