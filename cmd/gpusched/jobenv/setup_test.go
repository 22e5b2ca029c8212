package jobenv

import (
	"regexp"
	"testing"
)

func TestCondaShell(t *testing.T) {
	expression := regexp.MustCompile(`(^|[\s;&|(])(conda|mamba)\s+(activate|deactivate)\b`)
	for _, command := range []string{
		"", "conda", "conda activate", "conda activate x", "mamba deactivate", "conda  \tactivate x", "cd x && mamba activate y; conda activate z",
		"myconda activate x", "(conda activate x)", "conda activated", "conda activate_x", "conda deactivate;", "conda install x", "condaactivate",
		"conda\nactivate x", "x|conda activate -n", "echo conda; conda activate", "é conda activate é", "éconda activate",
	} {
		want := ""
		if m := expression.FindStringSubmatch(command); m != nil {
			want = m[2]
		}
		if got := condaShell(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
