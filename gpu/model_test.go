package gpu

import (
	"strings"
	"testing"
)

func TestTypeMatches(t *testing.T) {
	tests := []struct {
		name, want string
		matches    bool
	}{
		{"NVIDIA A100-SXM4-80GB", "a100", true},
		{"NVIDIA A100-SXM4-80GB", "A100", true},
		{"NVIDIA A100-SXM4-80GB", "a100-80gb", true},
		{"NVIDIA A100-SXM4-80GB", "nvidia a100", true},
		{"NVIDIA A100-SXM4-80GB", "80GB", true},
		{"NVIDIA A100-SXM4-80GB", "", true},
		{"NVIDIA A100-SXM4-80GB", " ", true},
		{"NVIDIA A100-SXM4-80GB", "-", false},
		{"NVIDIA A100-SXM4-80GB", "a10", false},
		{"NVIDIA A10", "a100", false},
		{"NVIDIA A100-SXM4-80GB", "a100-40gb", false},
		{"NVIDIA GeForce RTX 4090", "rtx-4090", true},
		{"NVIDIA GeForce RTX 4090", "rtx4090", true},
		{"NVIDIA GeForce RTX 3090 Ti", "rtx3090", true},
		{"NVIDIA GeForce RTX 3090 Ti", "3090ti", true},
		{"NVIDIA GeForce RTX 3090", "3090ti", false},
		{"NVIDIA GeForce RTX 4090", "rtx409", false},
		{"NVIDIA GeForce RTX 4090", "4090", true},
		{"", "a100", false},
		{"NVIDIA A100-SXM4-80GB MIG 1g.10gb", "1g.10gb", true},
		{"NVIDIA A100-SXM4-80GB MIG 1g.10gb", "a100-mig", true},
		{"NVIDIA A100-SXM4-80GB MIG 1g.10gb", "2g.10gb", false},
	}
	for _, tt := range tests {
		if got := (Device{Name: tt.name}).TypeMatches(tt.want); got != tt.matches {
			t.Errorf("%q matches %q = %t, want %t", tt.name, tt.want, got, tt.matches)
		}
	}
}

func TestNamesSlice(t *testing.T) {
	for want, is := range map[string]bool{
		"": false, "a100": false, "a100-80gb": false, "rtx-4090": false, "gh200": false, "gb200": false, "g": false,
		"mig": true, "MIG": true, "1g.10gb": true, "1c.3g.20gb": true, "a100-3g": true,
	} {
		if got := NamesSlice(want); got != is {
			t.Errorf("%q names a slice: %t", want, got)
		}
	}
}

func TestEveryProblemHasASentence(t *testing.T) {
	if got := ProblemNone.Sentence(); got != "" {
		t.Errorf("no problem says %q", got)
	}
	seen := map[string]bool{}
	for _, p := range append(Problems(), "of-a-later-version") {
		s, short := p.Sentence(), p.Short()
		if seen[short] || short == "" && p.known() {
			t.Errorf("%q says in short %q", p, short)
		}
		seen[short] = true
		if seen[s] || !strings.HasSuffix(s, ".") || len(s) < 60 {
			t.Errorf("%q says %q", p, s)
		}
		seen[s] = true
	}
}
