package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTemporary: a missing directory for temporary files is created, or its variable is unset.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	gone, lost, file := filepath.Join(dir, "nix-shell.x"), filepath.Join(dir, "user/1001"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := &environment{index: map[string]int{}}
	for _, kv := range []string{"A=" + lost, "TMPDIR=" + gone, "TMP=" + lost, "TEMP=" + file} {
		e.put(kv)
	}
	e.makeTemporary()
	if got := e.variables(); !slices.Equal(got, []string{"A=" + lost, "TMPDIR=" + gone}) {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(gone); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if said := strings.Join(e.say, "|"); len(e.say) != 2 || !strings.Contains(said, "TMP="+lost+" is left out: the directory does not exist") {
		t.Errorf("%s", said)
	}
}
