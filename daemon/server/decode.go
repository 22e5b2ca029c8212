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

// maxElements limits the fields and list elements of a body. The server counts commas instead of
// elements, including the commas within names. An empty text takes three bytes in the body, but
// more than twenty when decoded. No command that can run has so many elements: its arguments and
// environment have at most 2 MiB.
const maxElements = 256 << 10

// decode reads the body strictly into v, a pointer to a struct (invariant 5).
// If there is no body, v does not change. decode also removes the deadline that expectBody set,
// so that the handler has time.
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

// expectBody sets the deadline for the body. The server calls expectBody before it decides
// anything, because net/http itself reads the rest of a body that a handler did not read.
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

// fieldNames returns the names of a struct's fields in JSON.
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
