package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gpusched/gpusched/cmd/gpusched/options"
	"github.com/gpusched/gpusched/daemon/job"
)

// An option is a command-line option, as the tags of a request type describe it (invariant 2).
type option struct {
	name, help string
	flag       bool // takes no value
	list       bool // takes several values, separated by commas
	negatable  bool // has a --no- form
}

// optionsOf reads the options of a command from the fields of request types.
func optionsOf(command string, types ...reflect.Type) (list []option) {
	for _, t := range types {
		for i := range t.NumField() {
			f := t.Field(i)
			name := f.Tag.Get("name")
			if name == "" {
				continue
			}
			kind := f.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			_, negatable := f.Tag.Lookup("negatable")
			list = append(list, option{
				name, options.Of(command, name).Help, kind.Kind() == reflect.Bool, kind.Kind() == reflect.Slice, negatable,
			})
		}
	}
	slices.SortFunc(list, func(a, b option) int { return strings.Compare(a.name, b.name) })
	return list
}

var (
	requestOptions = optionsOf("submit", reflect.TypeFor[job.Request](), reflect.TypeFor[job.Label]())
	changeOptions  = optionsOf("update", reflect.TypeFor[job.Change]())
)

const optionsText = "The options of the command line. Values are text or numbers, such as 2, \"20G\" or \"1h30m\"."

// schemaOf returns a schema with the given properties and with a property "options", which contains
// the listed options.
func schemaOf(list []option, properties map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	options := map[string]*jsonschema.Schema{}
	for _, o := range list {
		switch {
		case o.flag:
			options[o.name] = &jsonschema.Schema{Type: "boolean", Description: o.help}
		case o.list:
			options[o.name] = texts(o.help)
		default:
			options[o.name] = text(o.help)
		}
	}
	closed := func() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }
	all := map[string]*jsonschema.Schema{"options": {
		Type: "object", Properties: options, AdditionalProperties: closed(),
		Description: optionsText,
	}}
	maps.Copy(all, properties)
	return &jsonschema.Schema{Type: "object", Properties: all, Required: required, AdditionalProperties: closed()}
}

// arguments converts the options of a call to arguments of a command line. The call must already
// fit the schema. An option and its value form one argument (invariant 3).
func arguments(list []option, given map[string]any) (words []string) {
	for _, o := range list {
		switch v := given[o.name].(type) {
		case bool:
			if v {
				words = append(words, "--"+o.name)
			} else if o.negatable {
				words = append(words, "--no-"+o.name)
			}
		case string:
			words = append(words, "--"+o.name+"="+v)
		case []any:
			var parts []string
			for _, part := range v {
				parts = append(parts, fmt.Sprint(part))
			}
			words = append(words, "--"+o.name+"="+strings.Join(parts, ","))
		}
	}
	return words
}
