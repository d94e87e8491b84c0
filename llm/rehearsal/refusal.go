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
}

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// write sends the error in DeepSeek's shape.
func (r *refusal) write(w http.ResponseWriter) {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(map[string]inner{ // a client that has left hears nothing
		"error": {Message: r.message, Type: "invalid_request_error", Code: "invalid_request_error"},
	})
}
