package term

import "testing"

func TestWrap(t *testing.T) {
	const text = "  DEGRADED  a part: this and that"
	for width, want := range map[int]string{
		0: text, 80: text, 24: "  DEGRADED  a part: this\n    and that", 8: "  DEGRADED\n    a\n    part:\n    this\n    and\n    that",
	} {
		if got := (&Terminal{Width: width}).Wrap(text, "    "); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	if got := (&Terminal{Width: 8}).Wrap("日本語 漢字", ""); got != "日本語\n漢字" {
		t.Errorf("wide characters: %q", got)
	}
}
