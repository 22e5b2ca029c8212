package config

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Invariant 3.
func TestSampleIsDefault(t *testing.T) {
	cfg, origins, err := Parse("sample", []byte(Sample()))
	if err != nil || !reflect.DeepEqual(cfg, Default()) {
		t.Errorf("got %+v, %v", cfg, err)
	}
	if len(origins) != 0 {
		t.Errorf("the sample sets %v", origins)
	}
	live := regexp.MustCompile(`(?m)^#([a-z_]+ = )`).ReplaceAllString(Sample(), "$1")
	cfg, origins, err = Parse("sample", []byte(live))
	if err != nil || !reflect.DeepEqual(cfg, Default()) {
		t.Errorf("without the marks: got %+v, %v", cfg, err)
	}
	if len(origins) != len(keys()) {
		t.Errorf("%d keys of %d are in the sample", len(origins), len(keys()))
	}
	for i, line := range strings.Split(Sample(), "\n") {
		if len(line) > 100 {
			t.Errorf("line %d has %d letters", i+1, len(line))
		}
	}
}

// Invariant 3; the fuzz test does the same for other values.
func TestShowReadsTheSame(t *testing.T) {
	cfg, _, err := Parse("show", []byte(Show(Default(), nil)))
	if err != nil || !reflect.DeepEqual(cfg, Default()) {
		t.Errorf("got %+v, %v", cfg, err)
	}
}

func TestShowOrigins(t *testing.T) {
	cfg, origins, err := Parse("/etc/x.toml", []byte("\n[jobs]\nmax_running = 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	out := Show(cfg, origins)
	for _, want := range []string{"max_running = 7  # /etc/x.toml:3\n", "max_queued = 100000  # default\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	again, _, err := Parse("again", []byte(out))
	if err != nil || !reflect.DeepEqual(again, cfg) {
		t.Errorf("got %+v, %v", again, err)
	}
	if strings.Contains(Show(cfg, nil), "#") {
		t.Error("origins are shown without being asked for")
	}
}

// Invariant 6.
func TestSchemaHasEveryKey(t *testing.T) {
	var schema struct {
		Properties map[string]struct {
			AdditionalProperties *bool
			Properties           map[string]struct {
				Type, Description string
				Default           any
				Pattern           string
			}
		}
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, k := range Keys() {
		p, ok := schema.Properties[k.Section].Properties[k.Name]
		if !ok || p.Type == "" || !strings.HasPrefix(p.Description, k.Doc) || p.Default == nil {
			t.Errorf("%s.%s: got %+v", k.Section, k.Name, p)
		}
		if s, ok := p.Default.(string); ok && !regexp.MustCompile(p.Pattern).MatchString(s) {
			t.Errorf("%s.%s: its default %q does not match its pattern", k.Section, k.Name, s)
		}
		count++
	}
	for name, s := range schema.Properties {
		count -= len(s.Properties)
		if s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("[%s] allows unknown keys", name)
		}
	}
	if count != 0 || len(schema.Properties) != len(Sections()) {
		t.Error("the schema has keys of its own")
	}
}

func TestKeysAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys() {
		if seen[k.name] { // hints speak of a key by its own name
			t.Errorf("%s is a key of two sections", k.name)
		}
		seen[k.name] = true
		if !regexp.MustCompile(`^[a-z_]+$`).MatchString(k.name) || !strings.HasSuffix(k.doc, ".") {
			t.Errorf("%s: bad name or meaning", k.full())
		}
		if len(names(k.section)) == 0 || !strings.Contains(strings.Join(sections(), " "), k.section) {
			t.Errorf("%s: unknown section", k.full())
		}
	}
}
