package rehearsal

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// refusal is an answer that is an error: a status and the error object.
type refusal struct {
	status  int
	message string
	kind    string
}

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...), "invalid_request_error"}
}

// body is the error in DeepSeek's shape.
func (r *refusal) body() []byte {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	b, err := json.Marshal(map[string]inner{
		"error": {Message: r.message, Type: r.kind, Code: "invalid_request_error"},
	})
	if err != nil { // strings only: cannot happen
		panic(err)
	}
	return b
}

func (r *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(append(r.body(), '\n')) // a client that has left hears nothing
}

// ofStatus is what the service says with a status when nothing else is scripted.
func ofStatus(status int) *refusal {
	said := map[int][2]string{
		http.StatusUnauthorized:       {"Authentication Fails, Your api key is invalid", "authentication_error"},
		http.StatusPaymentRequired:    {"Insufficient Balance", "unknown_error"},
		http.StatusTooManyRequests:    {"Rate limit reached", "rate_limit_error"},
		http.StatusServiceUnavailable: {"Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.", "service_unavailable_error"},
	}
	words, ok := said[status]
	switch {
	case !ok && status >= 500:
		words = [2]string{"Internal server error", "server_error"}
	case !ok:
		words = [2]string{http.StatusText(status), "invalid_request_error"}
	}
	return &refusal{status, words[0], words[1]}
}
