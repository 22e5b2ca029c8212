package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// JSON escapes everything that a terminal would act on. A parser still reads the original text.
func TestJSONIsHarmlessOnATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 模": `"plain é 模"`, "a\u009b31mb": `"a\u009b31mb"`, "\x7f\u0085": `"\u007f\u0085"`,
		"\u202eabc": `"\u202eabc"`, "\U000e0001": `"\udb40\udc01"`, "\x1b[0m": `"\u001b[0m"`, "": `""`,
	} {
		var b strings.Builder
		if err := WriteJSON(&b, text, ""); err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != text || b.String() != want+"\n" {
			t.Errorf("%q: %q, want %q: %v", text, b.String(), want, err)
		}
	}
}
