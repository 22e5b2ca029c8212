package api_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/released"
)

// Clients and daemons of this release and of the last one can talk to each other (invariant 2):
// every route, query word, field, state and error code is still there, with its type and exit
// status. A "!" after a field says that it is always sent.
func TestReleasedWire(t *testing.T) {
	g := schemas{}
	g.define(reflect.TypeFor[api.ErrorReply]())
	g.define(reflect.TypeFor[api.Event]()) // a line of the route events
	g.define(reflect.TypeFor[api.ManyPart]())
	var lines []string
	for _, r := range api.Routes() {
		line := fmt.Sprintf("%s %s:", r.Method, r.Path)
		if r.Query != nil {
			q := reflect.TypeOf(r.Query)
			for i := range q.NumField() {
				line += fmt.Sprintf(" %s=%s", q.Field(i).Tag.Get("query"), strings.TrimPrefix(q.Field(i).Type.String(), "*"))
			}
		}
		for _, v := range []any{r.Body, r.Reply} {
			if v != nil {
				line += " " + typeName(g.define(reflect.TypeOf(v)))
			}
		}
		lines = append(lines, line)
	}
	for name, def := range g {
		line := name + ":"
		for field, d := range def["properties"].(node) {
			always, _ := def["required"].([]string)
			if line += " " + field + "=" + typeName(d); slices.Contains(always, field) {
				line += " " + field + "!"
			}
		}
		lines = append(lines, sortedWords(line))
	}
	states, errors := "states:", "errors:"
	for _, s := range job.States() {
		states += " " + string(s)
	}
	for _, c := range []api.Code{api.CodeInternal, api.CodeUsage, api.CodeNotFound, api.CodeForbidden, api.CodeUnreachable, api.CodeNever,
		api.CodeWaitTimeout, api.CodePolicy, api.CodeConflict, api.CodeUnavailable} {
		errors += fmt.Sprintf(" %s=%d", c, c.ExitStatus())
	}
	released.Check(t, append(lines, states, errors))
}

func sortedWords(line string) string {
	words := strings.Fields(line)
	slices.Sort(words[1:])
	return strings.Join(words, " ")
}

// typeName names what a part of the schema describes.
func typeName(d any) string {
	n := d.(node)
	switch {
	case n["$ref"] != nil:
		return strings.TrimPrefix(n["$ref"].(string), "#/$defs/")
	case n["anyOf"] != nil:
		return typeName(n["anyOf"].([]node)[0])
	case n["items"] != nil:
		return "[]" + typeName(n["items"])
	case n["additionalProperties"] != nil:
		return "map[]" + typeName(n["additionalProperties"])
	case n["const"] != nil:
		return n["const"].(string)
	case n["type"] == nil:
		return "any"
	}
	return n["type"].(string)
}
