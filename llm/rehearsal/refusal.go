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
	const kind = "invalid_request_error"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	problem := object{"message": r.message, "type": kind, "param": nil, "code": kind}
	_ = json.NewEncoder(w).Encode(object{"error": problem}) // a client that has left hears nothing
}
