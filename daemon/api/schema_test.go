package api_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

var update = flag.Bool("update", false, "write the schema anew; commit only changes that you understand")

// schemaFile is the path of the published schema.
const schemaFile = "../../contrib/schema/gpusched.v1.json"

// The published schema describes the answers of all routes. It allows unknown fields, because new
// fields may be added (invariant 2).
func TestSchemaMatchesTheTypes(t *testing.T) {
	g := schemas{}
	var any []node
	for _, r := range api.Routes() {
		if r.Reply == nil {
			continue
		}
		if d := g.describe(reflect.TypeOf(r.Reply)); !slices.ContainsFunc(any, func(n node) bool { return reflect.DeepEqual(n, d) }) {
			any = append(any, d)
		}
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(node{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:" + api.Schema, "title": "what gpusched prints with --json",
		"$comment": "fields are only ever added: ignore those that you do not know", "anyOf": any, "$defs": g,
	}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is not that of the types (%v): go test ./daemon/api -run TestSchema -update", schemaFile, err)
	}
}

// node is a part of the schema.
type node map[string]any

// schemas has the definition of each struct by its name.
type schemas map[string]node

var (
	timeType    = reflect.TypeFor[time.Time]()
	spanType    = reflect.TypeFor[job.Span]()
	messageType = reflect.TypeFor[job.Message]()
	textType    = reflect.TypeFor[encoding.TextMarshaler]()
	ownType     = reflect.TypeFor[json.Marshaler]()
	bytesType   = reflect.TypeFor[api.Bytes]()
	wordsType   = reflect.TypeFor[api.Words]()
)

// describe describes a type as encoding/json writes it.
func (g schemas) describe(t reflect.Type) node {
	switch {
	case t.Kind() == reflect.Pointer:
		return g.describe(t.Elem())
	case t == timeType:
		return node{"type": "string", "format": "date-time"}
	case t == spanType:
		return node{"type": "number", "description": "seconds"}
	case t == messageType:
		text := node{"type": "string"}
		g["job.Message"] = node{"type": "object", "properties": node{"text": text, "say": text, "args": node{"type": "array"}}}
		return node{"$ref": "#/$defs/job.Message"}
	case t == bytesType:
		return node{"type": "string", "contentEncoding": "base64"}
	case t == wordsType:
		return node{"type": "array", "items": g.describe(bytesType)}
	case t.Implements(textType):
		return node{"type": "string"}
	case t.Implements(ownType):
		return node{}
	}
	switch t.Kind() {
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.String:
		return node{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return node{"type": "number"}
	case reflect.Slice:
		return node{"type": "array", "items": g.describe(t.Elem())}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": g.describe(t.Elem())}
	case reflect.Struct:
		return g.define(t)
	case reflect.Int, reflect.Int64:
		return node{"type": "integer"}
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return node{"type": "integer", "minimum": 0}
	}
	panic("no schema for " + t.String())
}

// define describes a struct once and returns a reference to it.
func (g schemas) define(t reflect.Type) node {
	name := strings.TrimPrefix(t.String(), "api.")
	ref := node{"$ref": "#/$defs/" + name}
	if g[name] != nil {
		return ref
	}
	properties, required := node{}, []string{}
	g[name] = node{"type": "object", "properties": properties}
	for _, f := range fieldsOf(t) {
		word, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := g.describe(f.Type)
		must := !strings.Contains(options, "omit")
		switch {
		case word == "schema":
			p = node{"const": api.Schema}
		case must && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Pointer):
			p = node{"anyOf": []node{p, {"type": "null"}}}
		}
		properties[word] = p
		if must {
			required = append(required, word)
		}
	}
	if len(required) > 0 {
		g[name]["required"] = required
	}
	return ref
}

// fieldsOf returns the fields that a struct has in JSON. A field of an embedded struct is left out
// if the outer struct has a field of the same name.
func fieldsOf(t reflect.Type) (list []reflect.StructField) {
	near := map[string]bool{}
	var embedded []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		word, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case word == "-":
		case f.Anonymous && word == "":
			embedded = append(embedded, f)
		case !f.IsExported():
		case word == "":
			panic(t.String() + "." + f.Name + " has no name in JSON")
		default:
			near[word] = true
			list = append(list, f)
		}
	}
	for _, e := range embedded {
		for _, f := range fieldsOf(e.Type) {
			word, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !near[word] {
				list = append(list, f)
			}
		}
	}
	return list
}
