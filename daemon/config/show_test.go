package config

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Parsing Sample gives Default (invariant 3).
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
	defaults := Default()
	if len(origins) != len(keysIn(&defaults)) {
		t.Errorf("%d keys of %d are in the sample", len(origins), len(keysIn(&defaults)))
	}
	for i, line := range strings.Split(Sample(), "\n") {
		if len(line) > 100 {
			t.Errorf("line %d has %d letters", i+1, len(line))
		}
	}
}

// The examples of the sample are valid and show every key.
func TestSampleExamples(t *testing.T) {
	live := regexp.MustCompile(`(?m)^#(\[|  [a-z])`).ReplaceAllString(Sample(), "$1")
	cfg, origins, err := Parse("sample", []byte(live))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections() {
		for _, name := range s.inUse(&cfg) {
			for _, k := range s.keysOf(name) {
				if _, ok := origins[k.full()]; !ok && s.placeholder != "" {
					t.Errorf("%s is not in the example", k.full())
				}
			}
		}
	}
	if len(cfg.Classes) != 1 || len(cfg.Quotas.Users) != 1 || len(cfg.Quotas.Groups) != 1 {
		t.Errorf("got %+v", cfg)
	}
}

// Invariant 3: the fuzz test checks it with other values.
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

// schemaNode is an object of the schema.
type schemaNode struct {
	AdditionalProperties *bool
	Properties           map[string]schemaNode
	PatternProperties    map[string]schemaNode
	Type, Default        any
	Description, Pattern string
}

// count checks that a table allows no other keys, and counts the keys below it.
func (n schemaNode) count(t *testing.T) int {
	if n.Type != "object" {
		return 1
	}
	if n.AdditionalProperties == nil || *n.AdditionalProperties {
		t.Errorf("%q allows unknown keys", n.Description)
	}
	total := 0
	for _, members := range []map[string]schemaNode{n.Properties, n.PatternProperties} {
		for _, m := range members {
			total += m.count(t)
		}
	}
	return total
}

// The schema has every key of the keys table (invariant 6).
func TestSchemaHasEveryKey(t *testing.T) {
	var root schemaNode
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for _, s := range sections() {
		at := root
		for _, part := range s.path {
			at = at.Properties[part]
		}
		if s.placeholder != "" {
			at = at.PatternProperties[s.namePattern()]
		}
		for _, k := range s.keysOf(s.placeholder) {
			p, ok := at.Properties[k.name]
			if !ok || p.Type == nil || !strings.HasPrefix(p.Description, k.doc) || (p.Default == nil) != (k.fallback != "") {
				t.Errorf("%s: got %+v", k.full(), p)
			}
			if s, ok := p.Default.(string); ok && !regexp.MustCompile(p.Pattern).MatchString(s) {
				t.Errorf("%s: its default %q does not match its pattern", k.full(), s)
			}
		}
	}
	if got := root.count(t); got != len(Keys()) {
		t.Errorf("the schema has %d keys, not %d", got, len(Keys()))
	}
}

func TestNamePatterns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		match []bool // class, user, group
	}{{"low", []bool{true, true, true}}, {"first.last", []bool{false, true, true}}, {"a:b", []bool{false, false, false}}, {"", []bool{false, false, false}}} {
		for i, s := range []section{classSection(), userSection(), groupSection()} {
			if got := regexp.MustCompile(s.namePattern()).MatchString(tt.name); got != tt.match[i] {
				t.Errorf("%q as %s: %v", tt.name, s.name(), got)
			}
		}
	}
}

func TestKeysAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys() {
		if seen[k.full()] {
			t.Errorf("there are two of %s", k.full())
		}
		seen[k.full()] = true
		if !regexp.MustCompile(`^[a-z_]+$`).MatchString(k.name) || !strings.HasSuffix(k.doc, ".") {
			t.Errorf("%s: bad name or meaning", k.full())
		}
	}
}
