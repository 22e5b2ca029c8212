package server

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gpusched/gpusched/daemon/api"
)

// Answers match the published schema. They have no field that the schema lacks.
func TestAnswersFitTheSchema(t *testing.T) {
	text, err := os.ReadFile("../../contrib/schema/gpusched.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, def := range schema["$defs"].(map[string]any) {
		def.(map[string]any)["additionalProperties"] = false
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:strict", schema); err != nil {
		t.Fatal(err)
	}
	s := testServer(queue(), new(bytes.Buffer))
	also := map[*api.Route]string{api.RouteList: "?ended=10&reasons=1&recent=1 ?reasons=brief", api.RouteShow: "?results=1"}
	for _, r := range api.Routes() {
		if r.Method != "GET" || r.Reply == nil || r == api.RouteWait {
			continue
		}
		for _, query := range append(strings.Fields(also[r]), "") {
			for _, id := range []string{"1", "2"} {
				fits(t, s, c, strings.Replace(r.Path, "{id}", id, 1)+query, reflect.TypeOf(r.Reply).Name())
			}
		}
	}
}

func fits(t *testing.T, s *Server, c *jsonschema.Compiler, path, name string) {
	one, err := c.Compile("urn:strict#/$defs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	status, body := ask(s, root, "GET", path, "")
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(body)))
	if err != nil || status != 200 {
		t.Errorf("%s: %d %s, %v", path, status, body, err)
		return
	}
	if err := one.Validate(answer); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	delete(answer.(map[string]any), "schema")
	if one.Validate(answer) == nil {
		t.Errorf("%s fits without its schema's name", path)
	}
}
