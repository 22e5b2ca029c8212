package api

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The query of a route is a struct. A field's tag "query" is the name of the field in the URL. The
// tag "wrong" is the message for a text that the field does not accept. The tag "in" has the
// inclusive limits of a number. Zero values and nil pointers are left out.

// EncodeQuery returns the words of a query for the URL. The argument query may be nil.
func EncodeQuery(query any) url.Values {
	words := url.Values{}
	eachWord(query, func(f reflect.StructField, v reflect.Value) {
		if v.IsZero() {
			return
		}
		word, text := f.Tag.Get("query"), "1"
		switch x := reflect.Indirect(v).Interface().(type) {
		case bool:
		case time.Time:
			text = x.UTC().Format(time.RFC3339Nano)
		case []job.State:
			text = strings.Join(stateNames(x), ",")
		case map[string]string:
			for key, value := range x {
				words.Add(word, key+"="+value)
			}
			return
		default:
			text = fmt.Sprint(x)
		}
		words.Set(word, text)
	})
	return words
}

// eachWord calls f for each field of a query or of a pointer to one.
func eachWord(query any, f func(reflect.StructField, reflect.Value)) {
	if query == nil {
		return
	}
	v := reflect.Indirect(reflect.ValueOf(query))
	for i := range v.NumField() {
		f(v.Type().Field(i), v.Field(i))
	}
}

// DecodeQuery reads the values in a URL. The argument query is a pointer to the query that gets
// them, or nil. A refusal is an *Error.
func DecodeQuery(values url.Values, query any) (err error) {
	var known []string
	eachWord(query, func(f reflect.StructField, v reflect.Value) {
		word := f.Tag.Get("query")
		known = append(known, word)
		for _, text := range values[word] {
			if err == nil && (text != "" || v.Kind() == reflect.Map) {
				err = decodeWord(f.Tag, v, text)
			}
			if v.Kind() != reflect.Map {
				break // if a word is repeated, only the first value counts
			}
		}
	})
	for word := range values {
		if !slices.Contains(known, word) {
			return UnknownWord("query word", word, known)
		}
	}
	return err
}

// decodeWord reads a text into a field.
func decodeWord(tag reflect.StructTag, v reflect.Value, text string) (err error) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	ok := true
	switch x := v.Addr().Interface().(type) {
	case *bool:
		*x, ok = text == "1", text == "0" || text == "1" || tag.Get("wrong") == ""
	case *time.Time:
		*x, err = time.Parse(time.RFC3339Nano, text)
		ok = err == nil
	case *job.ID:
		if *x, err = job.ParseID(text); err != nil {
			return &Error{Code: CodeUsage, Message: err.Error()}
		}
	case *[]job.State:
		return decodeStates(x, text)
	case *map[string]string:
		key, value, found := strings.Cut(text, "=")
		if ok = found && key != ""; ok && *x == nil {
			*x = map[string]string{}
		}
		if ok {
			(*x)[key] = value
		}
	default:
		var n, least, most int64
		n, err = strconv.ParseInt(text, 10, 64)
		_, badBounds := fmt.Sscanf(tag.Get("in"), "%d-%d", &least, &most)
		ok = err == nil && badBounds == nil && n >= least && n <= most
		v.SetInt(n)
	}
	if !ok {
		return &Error{Code: CodeUsage, Message: fmt.Sprintf(tag.Get("wrong"), text)}
	}
	return nil
}

// decodeStates adds the states of a comma-separated list.
func decodeStates(list *[]job.State, text string) error {
	for word := range strings.SplitSeq(text, ",") {
		switch s := job.State(word); {
		case !s.Valid():
			return unknownState(word)
		case !slices.Contains(*list, s):
			*list = append(*list, s)
		}
	}
	return nil
}

// UnknownWord returns an error about an unknown word. The error suggests the known word that was
// probably meant.
func UnknownWord(kind, word string, known []string) *Error {
	e := &Error{Code: CodeUsage, Message: fmt.Sprintf("unknown %s %q", kind, word)}
	if near := job.Nearest(word, known); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	} else {
		e.Hint = "is the client newer than the daemon? see 'gpusched version'"
	}
	return e
}

// otherStates maps the words of other schedulers to states.
var otherStates = map[string]job.State{
	"pending": job.Queued, "pd": job.Queued, "waiting": job.Queued, "q": job.Queued, "r": job.Running, "active": job.Running,
	"done": job.Completed, "finished": job.Completed, "success": job.Completed, "cd": job.Completed, "error": job.Failed,
	"f": job.Failed, "killed": job.Cancelled, "ca": job.Cancelled, "timeout": job.TimedOut, "to": job.TimedOut, "oom": job.OutOfMemory,
}

// unknownState returns an error about an unknown state. The error lists all states.
func unknownState(word string) *Error {
	names := stateNames(job.States())
	hint := "the states are " + strings.Join(names, ", ")
	if near := cmp.Or(string(otherStates[strings.ToLower(word)]), job.Nearest(word, names)); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near) + hint
	}
	return &Error{Code: CodeUsage, Message: fmt.Sprintf("unknown state %q", word), Hint: hint}
}

func stateNames(list []job.State) []string {
	return job.Each(list, func(s job.State) string { return string(s) })
}
