package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// gpusched-policy(7) lists the defaults.
func TestThePolicyPageHasTheDefaults(t *testing.T) {
	page, err := os.ReadFile("../../cmd/gpusched/manual/text/policy.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, k := range Keys() {
		if k.Section == "scheduling" {
			want += fmt.Sprintf("    %s = %s\n", k.Name, k.Default)
		}
	}
	if want == "" || !strings.HasSuffix(string(page), "\n\n"+want) {
		t.Errorf("the page does not end with\n%s", want)
	}
}
