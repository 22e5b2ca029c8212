package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write what the test gets into its testdata; commit only changes that you understand")

// Check compares a text with a file in testdata. With -update it writes the file instead.
func Check(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: write it with -update", err)
	}
	if text != string(want) {
		t.Errorf("%s is not as it was; look at the difference after 'go test -update' of this package:\n%s", path, text)
	}
}
