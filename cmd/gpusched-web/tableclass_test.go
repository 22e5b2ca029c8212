package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No class of a table may also be a class that colours a bar of the plan: it would give the table
// that colour.
func TestTablesAreNotPainted(t *testing.T) {
	style, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("static/page.html")
	if err != nil {
		t.Fatal(err)
	}
	var painted []string
	for _, m := range regexp.MustCompile(`\.([a-z]+) \{ fill:`).FindAllStringSubmatch(string(style), -1) {
		painted = append(painted, m[1])
	}
	tables := regexp.MustCompile(`<table class="([^"]*)"`).FindAllStringSubmatch(string(page), -1)
	if len(painted) < 3 || len(tables) < 2 {
		t.Fatalf("colours of %v, tables %v", painted, tables)
	}
	for _, m := range tables {
		for class := range strings.FieldsSeq(m[1]) {
			if slices.Contains(painted, class) {
				t.Errorf("a table of the class %q is painted as the bars are", class)
			}
		}
	}
}
