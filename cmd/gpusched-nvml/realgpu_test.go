//go:build realgpu

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/gpu/gputest"
	"github.com/gpusched/gpusched/gpu/source"
)

// Runs the conformance suite with the driver of this
// machine: go test -tags realgpu ./cmd/gpusched-nvml

func TestRealConforms(t *testing.T) {
	gputest.Run(t, func(t *testing.T) gputest.Source { return source.New(source.Options{Path: program}) })
}

func TestRealGPUsAreThere(t *testing.T) {
	s := source.New(source.Options{Path: program})
	defer s.Close()
	snapshot, err := s.Sample(t.Context())
	if err != nil || snapshot.Problem != "" || len(snapshot.Devices) == 0 {
		t.Fatalf("problem %q (%s), %d devices, %v", snapshot.Problem, snapshot.Detail, len(snapshot.Devices), err)
	}
	for _, d := range snapshot.Devices {
		t.Logf("%+v", d)
	}
}

func TestRealCensus(t *testing.T) {
	out, err := exec.Command(program, "--census").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("MISSING")) || !strings.Contains(string(out), "nvmlDeviceGetMemoryInfo_v2") {
		t.Errorf("%v\n%s", err, out)
	}
}
