package api

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// fill sets a query's field to a value that differs from the values of all other fields.
func fill(t *testing.T, f reflect.StructField, v reflect.Value) {
	t.Helper()
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 11, 29, 1, 2, 3, 4000, time.UTC)
	case *[]job.State:
		*x = []job.State{job.Failed, job.Lost}
	case *map[string]string:
		*x = map[string]string{"a b": "c&d", "e": "f=g"}
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString("text of " + f.Name + ", a&b=ü")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(543)
		default:
			t.Fatalf("%s is a %s, which no query has", f.Name, v.Type())
		}
	}
}

// The server decodes what the client encodes. This is tested for each
// word alone, and for all together.
func TestEveryQueryArrives(t *testing.T) {
	fields, words := 0, map[string]bool{}
	for _, r := range Routes() {
		if r.Query == nil {
			continue
		}
		all := reflect.New(reflect.TypeOf(r.Query))
		eachWord(all.Interface(), func(f reflect.StructField, v reflect.Value) {
			one := reflect.New(all.Type().Elem())
			fill(t, f, v)
			one.Elem().FieldByIndex(f.Index).Set(v)
			fields++
			word := r.Name + " " + f.Tag.Get("query")
			if f.Tag.Get("query") == "" || words[word] {
				t.Errorf("%s.%s has the word %q", one.Elem().Type(), f.Name, f.Tag.Get("query"))
			}
			words[word] = true
			if spelled := EncodeQuery(one.Interface()); len(spelled) != 1 || !arrives(t, one) {
				t.Errorf("%s: %v", word, spelled)
			}
		})
		if arrives(t, all); !arrives(t, reflect.New(all.Type().Elem())) || len(EncodeQuery(r.Query)) > 0 {
			t.Errorf("%s: an empty query is %v", r.Name, EncodeQuery(r.Query))
		}
	}
	if fields < 40 {
		t.Errorf("there are %d fields", fields)
	}
}

func arrives(t *testing.T, sent reflect.Value) bool {
	t.Helper()
	_, path, _ := strings.Cut((&Route{Path: "/x"}).pathOf("", sent.Interface()), "?")
	words, err := url.ParseQuery(path)
	got := reflect.New(sent.Type().Elem())
	if err == nil {
		err = DecodeQuery(words, got.Interface())
	}
	if err != nil || !reflect.DeepEqual(got.Interface(), sent.Interface()) {
		t.Errorf("%q arrived as %+v, %v; sent was %+v", path, got.Elem(), err, sent.Elem())
		return false
	}
	return true
}

// If a field does not accept a text, the error quotes that text. An unknown field is also an error.
func TestWrongQueriesAreRefused(t *testing.T) {
	for _, r := range Routes() {
		eachWord(r.Query, func(f reflect.StructField, v reflect.Value) {
			kind := reflect.Indirect(reflect.New(v.Type())).Kind()
			if kind == reflect.Pointer {
				kind = v.Type().Elem().Kind()
			}
			text := "x=1y"
			switch {
			case kind == reflect.String, kind == reflect.Bool && f.Tag.Get("wrong") == "":
				return
			case kind == reflect.Map:
				text = "=xy"
			case (kind == reflect.Int || kind == reflect.Int64) && f.Tag.Get("in") != "":
				_, most, _ := strings.Cut(f.Tag.Get("in"), "-")
				text = most + "0"
			}
			words := url.Values{f.Tag.Get("query"): {text}}
			var e *Error
			err := DecodeQuery(words, reflect.New(reflect.TypeOf(r.Query)).Interface())
			if !errors.As(err, &e) || e.Code != CodeUsage || !strings.Contains(e.Message, `"`+text+`"`) {
				t.Errorf("%s: %v: %v", r.Name, words, err)
			}
		})
		var query any
		if r.Query != nil {
			query = reflect.New(reflect.TypeOf(r.Query)).Interface()
		}
		if err := DecodeQuery(url.Values{"odd": {"1"}}, query); err == nil || !strings.Contains(err.Error(), `unknown query word "odd"`) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}
