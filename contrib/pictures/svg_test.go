package pictures

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// In a drawn picture, each word is in the column where it was on the screen, block elements are
// drawn as shapes, and all text is escaped.
func TestSVG(t *testing.T) {
	svg := SVG("a & b", "\x1b[1mID\x1b[0m  模型 x<y\n\x1b[32m█▄\x1b[0m 5", 20)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
	}
	for _, want := range []string{
		`<title>a &amp; b</title>`, `<text x="14" y="28" textLength="16" font-weight="bold">ID</text>`,
		`<text x="46" y="28" textLength="64">模型 x&lt;y</text>`, `<rect x="14" y="34" width="8" height="14" fill="#56d364"/>`,
		`<rect x="22" y="41" width="8" height="7" fill="#56d364"/>`, `<text x="38" y="46" textLength="8">5</text>`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %s in\n%s", want, svg)
		}
	}
}
