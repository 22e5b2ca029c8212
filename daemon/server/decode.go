package server

import (
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

// decode reads the body into v, a pointer to a struct, strictly (invariant 5).
// No body at all is the zero value.
func decode(r *request, v any, limit int64) error {
	rc := http.NewResponseController(r.w)
	rc.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, limit))
	rc.SetReadDeadline(time.Time{})
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		return usagef("the request is larger than %d bytes", limit)
	}
	if err != nil {
		return usagef("the request was not sent completely: %v", err)
	}
	if len(body) == 0 {
		return nil
	}
	return decodeStrict(body, v)
}

func decodeStrict(body []byte, v any) error {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		// encoding/json has no type for this error
		if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return unknownWord("field", strings.Trim(field, `"`), fieldNames(v))
		}
		return usagef("the request is not the JSON that is expected: %v", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return usagef("there is more text after the JSON of the request")
	}
	return nil
}

// fieldNames lists the JSON names of a struct's fields.
func fieldNames(v any) []string {
	t := reflect.TypeOf(v).Elem()
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// unknownWord refuses a word and says which one it may have been meant to be.
func unknownWord(kind, word string, known []string) *api.Error {
	e := usagef("unknown %s %q", kind, word)
	if near := api.Nearest(word, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	} else {
		e.Hint = "is the client newer than the daemon? see 'gpusched version'"
	}
	return e
}

func usagef(format string, args ...any) *api.Error {
	return &api.Error{Code: api.CodeUsage, Message: fmt.Sprintf(format, args...)}
}
