package nvml

import (
	"bytes"
	"testing"
)

func TestPrintSymbols(t *testing.T) {
	var out bytes.Buffer
	if err := PrintSymbols(&out, []Symbol{{Name: "a", Present: true}, {Name: "b"}, {Name: "c", Loss: "power"}}); err != nil {
		t.Fatal(err)
	}
	want := "a  present\nb  MISSING: nothing works without it\nc  missing, and with it: power\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}
