package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/pelletier/go-toml/v2"
)

// Key is one setting in the form that the manual page needs.
type Key struct {
	Section string // with the placeholder if the section is named, such as "quota.user.NAME"
	Name    string
	Doc     string
	Form    string // such as "a duration from 1s to 1d"
	Default string // in the form that a file has, or "that of" and another key
}

// Keys returns all settings in the order of the file.
func Keys() []Key {
	defaults := placeholders()
	var list []Key
	for _, k := range keys() {
		v := k.bind(&defaults)
		def := v.spell()
		if k.fallback != "" {
			def = cmp.Or(k.part, "that of") + " " + k.fallback
		}
		list = append(list, Key{Section: k.section, Name: k.name, Doc: k.doc, Form: v.schema().Form, Default: def})
	}
	return list
}

// placeholders returns the default Config, with a table for each placeholder.
func placeholders() Config {
	c := Default()
	for _, s := range sections() {
		if s.add != nil {
			s.add(&c, s.placeholder)
		}
	}
	return c
}

// Section is a group of settings.
type Section struct{ Name, Doc string }

// Sections returns the sections in the order of the file, named ones with their placeholder.
func Sections() []Section {
	return job.Each(sections(), func(s section) Section { return Section{Name: s.name(), Doc: s.doc} })
}

// Schema returns the JSON Schema of the file, for editors and for tools that write settings.
func Schema() []byte {
	defaults := placeholders()
	schema := table()
	schema["$schema"], schema["title"] = "https://json-schema.org/draft/2020-12/schema", "gpusched.toml"
	for _, s := range sections() {
		members := node{}
		for _, k := range s.keysOf(s.placeholder) {
			members[k.name] = describe(k, k.bind(&defaults))
		}
		s.place(schema, node{"type": "object", "description": s.doc, "additionalProperties": false, "properties": members})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		panic("config: encoding maps of strings: " + err.Error()) // JSON can hold everything in it
	}
	return b.Bytes()
}

// node is an object of the schema. JSON sorts its members.
type node map[string]any

func table() node {
	return node{"type": "object", "additionalProperties": false, "properties": node{}}
}

// place adds n, the schema of the section, to root at the section's path. It makes nodes for the
// tables above the section.
func (s section) place(root, n node) {
	for i, part := range s.path {
		members := root["properties"].(node)
		if i == len(s.path)-1 && s.placeholder == "" {
			members[part] = n
			return
		}
		if members[part] == nil {
			members[part] = table()
		}
		root = members[part].(node)
	}
	root["patternProperties"] = node{s.namePattern(): n}
}

// namePattern returns the regular expression for the names of a section's tables.
func (s section) namePattern() string {
	if s.allowed != nil {
		return "^(" + strings.Join(s.allowed, "|") + ")$"
	}
	return "^[^-:,/][^:,/]*$"
}

func describe(k key, v value) node {
	sh := v.schema()
	n := sh.node()
	n["description"] = k.doc + " (" + strings.ToUpper(sh.Form[:1]) + sh.Form[1:] + ".)"
	if k.fallback == "" {
		n["default"] = decodeSpelling(v.spell())
	}
	return n
}

func (sh shape) node() node {
	n := node{"type": sh.Type}
	if sh.Enum != nil {
		n["enum"] = sh.Enum
	}
	if sh.Min != nil {
		n["minimum"], n["maximum"] = *sh.Min, *sh.Max
	}
	if sh.Pattern != "" {
		n["pattern"] = sh.Pattern
	}
	if sh.Word != "" { // the limits apply only to numbers, the patterns only to texts
		n["type"], n["pattern"] = []string{sh.Type, "string"}, sh.Word
	}
	if sh.Items != nil {
		n["items"], n["uniqueItems"] = sh.Items.node(), true
	}
	return n
}

// decodeSpelling returns the JSON value of a spelling in a file.
func decodeSpelling(spelling string) any {
	var doc map[string]any
	if err := toml.Unmarshal([]byte("v = "+spelling), &doc); err != nil {
		panic("config: a default is spelled wrong: " + err.Error()) // TestSampleIsDefault checks this
	}
	return doc["v"]
}
