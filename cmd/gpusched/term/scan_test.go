package term

import (
	"regexp"
	"testing"
)

// Code that replaces regular expressions, whose tables cost time at each start, gives the same
// results.
func TestScannersAgreeWithExpressions(t *testing.T) {
	number := regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)
	for _, cell := range []string{"-1", "-12.50", "-", "-.5", "-5.", "1", "-1.2.3", "--1", "-1a", "-1.a", "+1", "-٣"} {
		if negative(cell) != number.MatchString(cell) {
			t.Errorf("negative(%q) is %v", cell, negative(cell))
		}
	}
}
