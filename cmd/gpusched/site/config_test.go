package site

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/daemon/directory/getent"
)

// A quota must use the name that belongs to the account's uid, even if a directory also knows the
// account by other names.
func TestOtherName(t *testing.T) {
	program := filepath.Join(t.TempDir(), "getent")
	const script = `#!/bin/sh
case $3 in
ann | 7001) echo 'ann:x:7001:7001::/:/bin/sh' ;;
ann@lab.org | bob) echo "$3:x:7001:7001::/:/bin/sh" ;;
odd) echo 'odd:x:7002:7002::/:/bin/sh' ;;
*) exit 2 ;;
esac
`
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ann": "", "ann@lab.org": "ann", "bob": "ann", "7001": "", "odd": "", "nobody-known": "",
	} {
		if _, called := otherName(t.Context(), getent.Resolver{Program: program}, name); called != want {
			t.Errorf("%s is called %q, want %q", name, called, want)
		}
	}
}
