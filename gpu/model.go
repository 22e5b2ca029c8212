package gpu

import (
	"slices"
	"strings"
	"unicode"
)

// TypeMatches reports whether the device is of the wanted type. Both the type and Name are split at
// everything except letters and digits, and compared regardless of case. The device matches if
// every word of the type is a word of Name, or two that follow each other, as in "rtx4090". "a100"
// and "A100-SXM4" match "NVIDIA A100-SXM4-80GB"; "a10" and "a100-40gb" do not. An empty type
// matches every device. A type without letters and digits matches no device.
func (d Device) TypeMatches(want string) bool {
	if strings.TrimSpace(want) == "" {
		return true
	}
	asked := typeWords(want)
	if len(asked) == 0 {
		return false
	}
	has := typeWords(d.Name)
	for i := range len(has) - 1 {
		has = append(has, has[i]+has[i+1])
	}
	return !slices.ContainsFunc(asked, func(w string) bool { return !slices.Contains(has, w) })
}

// NamesSlice reports whether a type asks for a slice of a GPU in MIG mode: one of its words is
// "mig", or is a number of compute slices, such as "3g" in "3g.40gb".
func NamesSlice(want string) bool {
	return slices.ContainsFunc(typeWords(want), func(w string) bool {
		number, ok := strings.CutSuffix(w, "g")
		_, counts := digits(number, 10)
		return w == "mig" || ok && counts
	})
}

func typeWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
