package job

import (
	"strings"
	"testing"
	"time"
)

func TestChangesAreCheckedInForm(t *testing.T) {
	for _, tt := range []struct {
		c    Change
		want string // "" is fine
	}{
		{Change{}, "nothing to change"},
		{Change{Name: new("a"), Comment: new(""), GPUMilli: new(0), MemBytes: new(int64(0)), Preemptible: new(false)}, ""},
		{Change{GPUMilli: new(1), GPUMemBytes: new(int64(-1))}, "--gpus"},
		{Change{GPUMemBytes: new(int64(-1))}, "--gpu-mem"},
		{Change{GPUMemBytes: new(int64(1) << 30)}, ""},
		{Change{TimeLimit: new(-time.Second)}, "--time"},
		{Change{Priority: &Priority{Class: 9}}, "--priority"},
		{Change{Retries: new(MaxRetries + 1)}, "--retries"},
		{Change{After: &[]Dependency{{Kind: "sometimes", Job: 1}}}, "--after"},
		{Change{After: &[]Dependency{}, Begin: &time.Time{}, ArrayLimit: new(0)}, ""},
		{Change{ArrayLimit: new(-1)}, "--array-limit"},
		{Change{Name: new(""), CPUs: new(-1)}, "--name"},
		{Change{Name: new(""), CPUs: new(-1)}, "--cpus"},
	} {
		err := tt.c.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}
