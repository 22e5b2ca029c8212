package slurmexec

import (
	"strings"
	"testing"
)

func TestShapingVariablesAreDropped(t *testing.T) {
	r := New([]string{"PATH=/bin", "SQUEUE_FORMAT=x", "SLURM_TIME_FORMAT=relative", "SLURM_CONF=/c", "LANG=de_DE", "SBATCH_PARTITION=gpu", "SLURM_JOB_ID=7", "A=b"})
	if got := strings.Join(r.neutral, " "); got != "PATH=/bin SLURM_CONF=/c A=b" {
		t.Error(got)
	}
	if got := r.Options; len(got) != 1 || got[0] != "--partition=gpu" {
		t.Error(got)
	}
}

func TestBounded(t *testing.T) {
	var text strings.Builder
	b := bounded{to: &text, room: 3}
	for range 3 {
		if n, err := b.Write([]byte("ab")); n != 2 || err != nil {
			t.Error(n, err)
		}
	}
	if text.String() != "aba" || !b.over {
		t.Errorf("%q", text.String())
	}
}
