package server

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// asError converts an error to the form that clients get. An error that is not meant for people
// becomes an internal error.
func asError(err error) *api.Error {
	var e *api.Error
	var refusal *job.Refusal
	var problems job.Problems
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &refusal):
		text, hint := words.Refusal(refusal)
		return &api.Error{Code: api.Code(refusal.Kind()), Message: text, Hint: hint, Say: words.Spelled(refusal.Message)}
	case errors.As(err, &problems):
		return &api.Error{Code: api.CodeUsage, Message: words.Error(problems)}
	}
	return &api.Error{Code: api.CodeInternal}
}

// internalError returns an error for the client, and the number by which the error refers to an
// entry in the log.
func (s *Server) internalError() (*api.Error, string) {
	var b [4]byte
	rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	hint := "an administrator finds it with: journalctl -u gpusched -g " + id
	if s.opt.Own != nil {
		hint = "find it with: journalctl --user -u gpusched -g " + id
	}
	return &api.Error{Code: api.CodeInternal, Message: "internal error " + id, Hint: hint}, id
}

func writeError(w http.ResponseWriter, e *api.Error) {
	writeJSON(w, e.Code.HTTPStatus(), api.ErrorReply{Schema: api.Schema, Error: *e})
}

// writeJSON sends the reply and returns its size. A client that does not read is cut off.
func writeJSON(w http.ResponseWriter, status int, reply any) int {
	text := encodeJSON(reply)
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTime))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	w.Write(text)
	return len(text)
}

// encodeJSON returns v as one line.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // JSON can't encode the type; the function contain logs this
	}
	return b.Bytes()
}
