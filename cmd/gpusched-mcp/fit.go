package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gpusched/gpusched/daemon/job"
)

// A fitter converts the arguments of one call to the schema of its tool. It accepts an argument
// with only one possible meaning: models write 1 for "1", "running" for ["running"], and gpu_mem
// for gpu-mem. All other arguments are refused together. The refusal names each argument and the
// place where it belongs (invariant 7).
type fitter struct {
	tool  string
	top   *jsonschema.Schema
	wrong []string
}

// fitArguments returns the arguments converted to the schema.
func fitArguments(tool string, schema *jsonschema.Schema, given json.RawMessage) (json.RawMessage, error) {
	f := &fitter{tool: tool, top: schema}
	var args map[string]any
	if len(given) > 0 && !decoded(given, &args) {
		return nil, fmt.Errorf("the arguments of %s must be an object: %s", tool, f.listNames("", schema))
	}
	fitted := f.object("", schema, args)
	if len(f.wrong) > 0 {
		return nil, errors.New(strings.Join(f.wrong, "; "))
	}
	return json.Marshal(fitted)
}

// decoded decodes JSON and keeps numbers as they were written.
func decoded(text []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into) == nil
}

func (f *fitter) refuse(format string, args ...any) any {
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
	return nil
}

// object converts the members of an object. The parameter parent is the name of the object; ""
// means the arguments of the call themselves.
func (f *fitter) object(parent string, s *jsonschema.Schema, given map[string]any) map[string]any {
	fitted := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, key := given[name], spelled(s, name)
		_, twice := fitted[key]
		switch property := s.Properties[key]; {
		case value == nil, value == "" && slices.Contains(s.Required, key): // the same as a missing argument
		case property == nil:
			f.refuseName(parent, name, value)
		case twice:
			f.refuse("%s is given twice", key)
		default:
			fitted[key] = f.value(key, property, value)
		}
	}
	for _, name := range s.Required {
		if _, ok := fitted[name]; !ok {
			f.refuse("%s is missing: %s", name, s.Properties[name].Description)
		}
	}
	return fitted
}

// spelled returns the property that a name means. It recognizes gpu_mem as gpu-mem, after-ok as
// after_ok, and job as id or ids.
func spelled(s *jsonschema.Schema, name string) string {
	others := []string{name, strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(name, "-", "_")}
	if slices.Contains([]string{"id", "ids", "job", "jobs", "job_id", "job_ids"}, name) {
		others = append(others, "id", "ids")
	}
	for _, other := range others {
		if s.Properties[other] != nil {
			return other
		}
	}
	return name
}

// refuseName refuses a name that the object does not have, and says where it belongs.
func (f *fitter) refuseName(parent, name string, value any) {
	options, name := f.top.Properties["options"], brief(name)
	has := func(s *jsonschema.Schema) bool { return s != nil && s.Properties[spelled(s, name)] != nil }
	here := f.top
	if parent != "" {
		here = f.top.Properties[parent]
	}
	near := job.Nearest(name, slices.Sorted(maps.Keys(here.Properties)))
	switch {
	case parent == "" && has(options):
		f.refuse(`%[1]s belongs in options: {"options": {"%[1]s": %[2]s}}`, spelled(options, name), asJSON(value))
	case parent != "" && has(f.top):
		f.refuse("%[1]s belongs beside %[2]s, not inside %[2]s", spelled(f.top, name), parent)
	case near != "":
		f.refuse("there is no argument %s: did you mean %s?", within(parent, name), near)
	default:
		f.refuse("there is no argument %s; %s", within(parent, name), f.listNames(parent, here))
	}
}

func within(in, name string) string {
	if in == "" {
		return name
	}
	return name + " in " + in
}

// listNames lists the names that an object accepts.
func (f *fitter) listNames(parent string, s *jsonschema.Schema) string {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 {
		return f.tool + " takes no arguments"
	}
	return within(parent, f.tool) + " takes " + strings.Join(names, ", ")
}

// value converts a value to the type that its schema names.
func (f *fitter) value(name string, s *jsonschema.Schema, v any) any {
	switch s.Type {
	case "object":
		return f.objectOf(name, s, v)
	case "array":
		return f.list(name, s, v)
	case "boolean":
		if text := strings.ToLower(fmt.Sprint(v)); text == "true" || text == "false" {
			return text == "true"
		}
		return f.refuse("%s must be true or false, not %s", name, asJSON(v))
	case "integer":
		if n, err := strconv.Atoi(number(v)); err == nil {
			return n
		}
		return f.refuse("%s must be a whole number, not %s", name, asJSON(v))
	case "number":
		if n, err := strconv.ParseFloat(number(v), 64); err == nil {
			return n
		}
		return f.refuse("%s must be a number, not %s", name, asJSON(v))
	}
	if text := number(v); text != "" || v == "" {
		return text
	}
	return f.refuse("%s must be a single text, not %s", name, asJSON(v))
}

// objectOf converts a value to an object. It also accepts JSON text.
func (f *fitter) objectOf(name string, s *jsonschema.Schema, v any) any {
	if text, ok := v.(string); ok {
		var inner map[string]any
		if decoded([]byte(text), &inner) {
			v = inner
		}
	}
	inner, ok := v.(map[string]any)
	if !ok {
		return f.refuse(`%s must be an object, such as {"gpus": 1}, not %s`, name, asJSON(v))
	}
	return f.object(name, s, inner)
}

// list converts a value to a list. It also accepts text with several values, and a single value.
func (f *fitter) list(name string, s *jsonschema.Schema, v any) any {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case string:
		switch {
		case strings.HasPrefix(v, "[") && decoded([]byte(v), &list):
		case name == "command" && strings.ContainsAny(v, " \t\n"):
			return f.refuse(`command must be a list with one word per element, such as ["python", "train.py"], because no shell reads it; `+
				`to run a shell command use ["sh", "-c", LINE]; it was %s`, asJSON(v))
		case name == "command" && v != "":
			list = []any{v}
		default:
			for _, one := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(", \t\n", r) }) {
				list = append(list, one)
			}
		}
	default:
		list = []any{v}
	}
	return job.Each(list, func(one any) any { return f.value(name, s.Items, one) })
}

// number returns a text unchanged, a number as a person
// would type it (1 for 1.0), and "" for any other value.
func number(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return v.String()
	}
	return ""
}

// asJSON formats a value as JSON, for an error.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "that"
	}
	return brief(string(text))
}

// brief shortens an agent's text for an error.
func brief(s string) string {
	s = stripControls(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
