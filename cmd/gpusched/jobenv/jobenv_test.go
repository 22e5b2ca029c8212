package jobenv

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The GPU memory that a command used earlier is printed only if that helps the user.
func TestMemoryHint(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		job  api.Job
		want string // "" if nothing is printed
	}{
		"nothing is known":      {api.Job{Request: job.Request{GPUMilli: 1000}}, ""},
		"auto, nothing is":      {api.Job{Request: job.Request{GPUMilli: 500}, GPUMemAuto: true}, "no earlier run"},
		"auto, shared memory":   {api.Job{Request: job.Request{GPUMilli: 500}, GPUMemAuto: true, GPUMemKnownBytes: gib}, "none of their own"},
		"auto":                  {api.Job{Request: job.Request{GPUMilli: 500, GPUMemBytes: 12 * gib}, GPUMemAuto: true, GPUMemKnownBytes: 10 * gib}, "up to 10G of a GPU's memory: asked for 12G"},
		"an offer":              {api.Job{Request: job.Request{GPUMilli: 1000}, GPUMemKnownBytes: 10 * gib}, "--gpu-mem auto asks for a little more"},
		"the user knows better": {api.Job{Request: job.Request{GPUMilli: 1000, GPUMemBytes: gib}, GPUMemKnownBytes: 10 * gib}, ""},
		"no GPU":                {api.Job{GPUMemKnownBytes: 10 * gib}, ""},
	} {
		if got := memoryHint(c.job); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
