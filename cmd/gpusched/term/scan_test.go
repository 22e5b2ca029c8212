package term

import (
	"regexp"
	"testing"
)

// What is read without expressions, whose tables take time at each start, is read as they would.
func TestAsExpressionsWould(t *testing.T) {
	number := regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)
	for _, cell := range []string{"-1", "-12.50", "-", "-.5", "-5.", "1", "-1.2.3", "--1", "-1a", "-1.a", "+1", "-٣"} {
		if negative(cell) != number.MatchString(cell) {
			t.Errorf("negative(%q) is %v", cell, negative(cell))
		}
	}
	moment := regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} UTC`)
	for _, text := range []string{
		"", "no time", "2026-11-23 14:00:00 UTC", "until 2026-11-23 14:00:00 UTC, then", "12026-11-23 14:00:00 UTC", "2026-11-23 14:00:00 UT",
		"2026-11-23 14:00:0x UTC 2026-01-02 03:04:05 UTC", "2026-11-23T14:00:00 UTC", "ü 2026-11-23 14:00:00 UTC ü",
	} {
		from, to := sentenceTime(text)
		want := moment.FindStringIndex(text)
		if (want == nil) != (from < 0) || want != nil && (want[0] != from || want[1] != to) {
			t.Errorf("%q: %d to %d, want %v", text, from, to, want)
		}
	}
}
