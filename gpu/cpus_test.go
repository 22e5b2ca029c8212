package gpu

import (
	"strings"
	"testing"
)

// Invariant 6.
func TestCheckCPUs(t *testing.T) {
	tests := []struct {
		list string
		ok   bool
	}{
		{"", true},
		{"0", true},
		{"0-15,32-47", true},
		{"0,2,4", true},
		{"3-3", true},
		{"65535", true},
		{"65536", false},
		{",", false},
		{"0,", false},
		{"0-", false},
		{"-1", false},
		{"+1", false},
		{" 1", false},
		{"0-1-2", false},
		{"4-2", false},
		{"2,1", false},
		{"0-4,4", false},
		{"0x1", false},
		{"0\n", false},
		{"99999999999999999999", false},
		{strings.Repeat("1", MaxCPUsBytes+1), false},
	}
	for _, tt := range tests {
		if err := CheckCPUs(tt.list); (err == nil) != tt.ok {
			t.Errorf("%q: %v, want ok %t", tt.list, err, tt.ok)
		}
	}
}
