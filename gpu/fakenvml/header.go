package fakenvml

import (
	"regexp"
	"slices"
)

// Exports returns the functions that the text of nvml.h declares, sorted and without duplicates.
func Exports(header []byte) []string {
	declared := regexp.MustCompile(`(?m)^[^/*\n]*\bDECLDIR\b[^(\n]*?\b(nvml\w+)\(`)
	var names []string
	for _, m := range declared.FindAllSubmatch(header, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
