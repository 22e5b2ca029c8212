package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Key is one setting as the manual page tells of it.
type Key struct {
	Section string
	Name    string
	Doc     string
	Form    string // such as "a duration from 1s to 1d"
	Default string // as a file spells it
}

// Keys lists all settings in the order of the file.
func Keys() []Key {
	defaults := Default()
	var list []Key
	for _, k := range keys() {
		v := k.bind(&defaults)
		list = append(list, Key{Section: k.section, Name: k.name, Doc: k.doc, Form: v.schema().Form, Default: v.spell()})
	}
	return list
}

// Section is a group of settings.
type Section struct{ Name, Doc string }

// Sections lists the sections in the order of the file.
func Sections() []Section {
	var list []Section
	for _, s := range sectionDocs() {
		list = append(list, Section{Name: s[0], Doc: s[1]})
	}
	return list
}

// Schema returns the JSON Schema of the file, for editors and for tools that
// write settings.
func Schema() []byte {
	defaults := Default()
	properties := node{}
	for _, s := range sectionDocs() {
		members := node{}
		for _, k := range keys() {
			if k.section == s[0] {
				members[k.name] = describe(k, k.bind(&defaults))
			}
		}
		properties[s[0]] = node{"type": "object", "description": s[1], "additionalProperties": false, "properties": members}
	}
	schema := node{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "gpusched.toml",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		panic("config: encoding maps of strings: " + err.Error()) // there is nothing in it that JSON cannot say
	}
	return b.Bytes()
}

// node is an object of the schema; JSON prints its members sorted.
type node map[string]any

func describe(k key, v value) node {
	sh := v.schema()
	n := sh.node()
	n["description"] = k.doc + " (" + strings.ToUpper(sh.Form[:1]) + sh.Form[1:] + ".)"
	n["default"] = decoded(v.spell())
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
	if sh.Items != nil {
		n["items"], n["uniqueItems"] = sh.Items.node(), true
	}
	return n
}

// decoded turns a value's spelling into what JSON says for it.
func decoded(spelling string) any {
	var doc map[string]any
	if err := toml.Unmarshal([]byte("v = "+spelling), &doc); err != nil {
		panic("config: a default is spelled wrong: " + err.Error()) // held by TestSampleIsDefault
	}
	return doc["v"]
}
