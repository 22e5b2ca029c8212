package config

import (
	"os"
	"testing"

	"github.com/gpusched/gpusched/packaging/test/released"
)

// A file with every setting of the last release is accepted.
func TestReleasedSettings(t *testing.T) {
	every, err := os.ReadFile("testdata/every-key.toml")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Parse("released.toml", released.File(t, "testdata/released.toml", every)); err != nil {
		t.Errorf("the last release accepted these settings:\n%v", err)
	}
}
