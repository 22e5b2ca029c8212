package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSiteVariables: the variables of /etc/environment are read as pam_env reads them.
func TestSiteVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environment")
	text := "# proxies\nhttp_proxy=http://p:1 # ours\n\texport E2=\"q 'q\"\nE3='a b'  \nE4=\n BAD LINE=1\n=x\nE5=\"open\nE6=a=b"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"http_proxy=http://p:1", "E2=q 'q", "E3=a b", "E4=", `E5="open`, "E6=a=b"}
	if got := siteVariables(file); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if got := siteVariables(file + ".none"); len(got) > 0 {
		t.Errorf("without a file: %q", got)
	}
}
