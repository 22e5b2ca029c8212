package fakenvml

import (
	"regexp"
	"slices"
)

// Exports lists, sorted and once each, the functions that the text of an nvml.h
// declares.
func Exports(header []byte) []string {
	declared := regexp.MustCompile(`(?m)^[^/*\n]*\bDECLDIR\b[^(\n]*?\b(nvml\w+)\(`)
	var names []string
	for _, m := range declared.FindAllSubmatch(header, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
