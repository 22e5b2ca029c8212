package nvml

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	s := gpu.Snapshot{Driver: "550.54.14", Devices: []gpu.Device{
		{Index: 0, UUID: "GPU-a", Minor: 3, Name: "NVIDIA A100", Health: gpu.HealthOK, MemFreeBytes: 5 << 20, TempC: -1, MIG: true,
			Processes: []gpu.Process{{PID: 7, Kind: "compute", UsedBytes: -1, UID: -1, Dead: true}, {PID: 8, UsedBytes: 2 << 20, Unit: "gpujob-1.service"}}},
		{Index: 1, Minor: -1, Health: gpu.HealthLost, HealthDetail: "GPU is lost"},
	}}
	if err := Print(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"driver 550.54.14, NVML -", "nvidia3", "5MiB", "nvidia?", "GPU is lost", "MIG mode is on", "pid 7", "gone", "gpujob-1.service"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestPrintProblem(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, gpu.Snapshot{Problem: gpu.ProblemDriverMissing, Detail: "Driver Not Loaded"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{gpu.ProblemDriverMissing.Sentence(), "driver-missing: Driver Not Loaded"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestPrintSymbols(t *testing.T) {
	var out bytes.Buffer
	if err := PrintSymbols(&out, []Symbol{{Name: "a", Present: true}, {Name: "b"}, {Name: "c", Loss: "power"}}); err != nil {
		t.Fatal(err)
	}
	want := "a  present\nb  MISSING: nothing works without it\nc  missing, and with it: power\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}
