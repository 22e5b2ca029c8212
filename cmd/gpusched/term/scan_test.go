package term

import (
	"regexp"
	"testing"
)

// Some code replaces regular expressions, since their tables take time at each start. The code must
// give the same results as the expressions.
func TestScannersAgreeWithExpressions(t *testing.T) {
	number := regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)
	for _, cell := range []string{"-1", "-12.50", "-", "-.5", "-5.", "1", "-1.2.3", "--1", "-1a", "-1.a", "+1", "-٣"} {
		if isNegative(cell) != number.MatchString(cell) {
			t.Errorf("negative(%q) is %v", cell, isNegative(cell))
		}
	}
}
