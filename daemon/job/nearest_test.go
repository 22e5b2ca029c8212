package job

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"queued", "running", "gpu_milli", "gpu_ids", "name", "jobs", "gpus", "daemon"}
	for word, want := range map[string]string{
		"quened": "queued", "nam": "name", "runing": "running", "gpu_mili": "gpu_milli", "gpuids": "gpu_ids", "run": "running",
		"jobs": "jobs", "job": "jobs", "deamon": "daemon", "nmae": "name", "gups": "gpus", "jbso": "", "QUEUED": "queued", "namely": "name",
		"zzz": "", "": "", "x": "", "network": "", "gpu_mixxxx": "", strings.Repeat("x", 1<<20): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
	for _, tt := range []struct{ word, want string }{{"gpu", "gpus"}, {"gpus", "gpus"}, {"gpuz", "gpus"}} {
		if got := Nearest(tt.word, []string{"jobs", "gpus", "gpux"}); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
