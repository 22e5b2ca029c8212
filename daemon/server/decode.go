package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// maxElements bounds the fields and list elements of a body by its commas, because an empty text
// takes three bytes there and more than twenty when decoded. Commas in names count as well. No
// command that can run has as many: its arguments and environment have at most 2 MiB.
const maxElements = 256 << 10

// decode reads the body into v, a pointer to a struct, strictly (invariant 5). Without a body v
// stays zero. It lifts the deadline that expectBody set, so that the handler may take its time.
func decode(r *request, v any, limit int64) error {
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, limit))
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		return usagef("the request is larger than %d bytes", limit)
	}
	if err != nil {
		return usagef("the request was not sent completely: %v", err)
	}
	http.NewResponseController(r.w).SetReadDeadline(time.Time{})
	if len(body) == 0 {
		return nil
	}
	if n := bytes.Count(body, []byte{','}); n > maxElements {
		return usagef("the request has more than %d elements", maxElements)
	}
	if err := decodeStrict(body, v); err != nil {
		return err
	}
	r.asked = v
	return nil
}

// expectBody sets the deadline for the body before anything is decided, because net/http reads what
// a handler leaves unread.
func expectBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	if r.Method == http.MethodGet {
		return usagef("a GET request has no body")
	}
	return nil
}

func decodeStrict(body []byte, v any) error {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		// encoding/json has no type for this error
		if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return api.UnknownWord("field", strings.Trim(field, `"`), fieldNames(v))
		}
		return usagef("the request's JSON is not valid: %v", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return usagef("there is more text after the JSON of the request")
	}
	return nil
}

// fieldNames returns the JSON names of a struct's fields.
func fieldNames(v any) []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func usagef(format string, args ...any) *api.Error {
	return &api.Error{Code: api.CodeUsage, Message: fmt.Sprintf(format, args...)}
}
