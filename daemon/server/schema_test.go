package server

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What is answered is what the published schema says, and has no field that it does not know.
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
	for path, name := range map[string]string{
		"/v1/jobs?ended=10&reasons=1&recent=1": "ListReply", "/v1/jobs?reasons=brief": "ListReply", "/v1/status": "StatusReply", "/v1/gpus": "GPUsReply", "/v1/health": "HealthReply",
		"/v1/jobs/1": "JobReply", "/v1/jobs/2?results=1": "JobReply", "/v1/reservations": "ReservationsReply", "/v1/version": "VersionReply",
	} {
		one, err := c.Compile("urn:strict#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		status, body := ask(s, root, "GET", path, "")
		answer, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(body)))
		if err != nil || status != 200 {
			t.Errorf("%s: %d %s, %v", path, status, body, err)
			continue
		}
		if err := one.Validate(answer); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		delete(answer.(map[string]any), "schema")
		if one.Validate(answer) == nil {
			t.Errorf("%s fits without its schema's name", path)
		}
	}
}
