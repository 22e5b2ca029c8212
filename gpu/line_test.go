package gpu

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func sample() Snapshot {
	return Snapshot{
		Seq: 7, TakenUnixNano: 1, Driver: "550.54.14", NVMLVersion: "12.550.54.14", CUDAVersion: "12.4",
		Devices: []Device{
			{Index: 0, UUID: "GPU-a", Minor: 1, Name: "NVIDIA A100-SXM4-80GB", PCI: "00000000:07:00.0", NUMANode: 0, CPUs: "0-15,32-47", Health: HealthOK,
				MemTotalBytes: 80 << 30, MemUsedBytes: 2 << 30, MemFreeBytes: 77 << 30, MemReservedBytes: 1 << 30, ComputeMode: "default",
				Processes: []Process{{PID: 12, Kind: "compute+mps", UsedBytes: -1, UID: 1001, Comm: "python", Unit: "gpujob-3.service"}}},
			{Index: 1, Minor: -1, NUMANode: -1, Health: HealthLost, HealthDetail: "GPU is lost", TempC: -1, Processes: []Process{}},
			{Index: 2, UUID: "GPU-c", Minor: 2, NUMANode: 1, CPUs: "16", Health: HealthOK, Processes: []Process{}},
			{Index: 4, UUID: "MIG-d", Minor: 3, NUMANode: 1, Health: HealthOK, Processes: []Process{}, Slice: Slice{Card: 3, GPUInstance: 7, Caps: [2]int{30, 31}}},
		},
		Links: []Link{{A: 0, B: 1, Kind: LinkCross}, {A: 0, B: 2, Kind: LinkNVLink, Lanes: 12}, {A: 1, B: 2, Kind: LinkSwitch}},
	}
}

// Decode reads the value that Encode wrote (invariant 3).
func TestLineRoundTrip(t *testing.T) {
	for _, s := range []Snapshot{sample(), {Seq: 1, Devices: []Device{}}, {Problem: ProblemDriverMissing, Detail: "no module", Devices: []Device{}}} {
		line, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Errorf("not one line: %q", line)
		}
		got, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, s) {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
}

func TestEncodeLeavesTheCallersSlices(t *testing.T) {
	s := Snapshot{Devices: []Device{{UUID: "GPU-a", Health: HealthOK}}}
	if _, err := Encode(s); err != nil {
		t.Fatal(err)
	}
	if s.Devices[0].Processes != nil {
		t.Error("Encode wrote to the caller's device")
	}
}

func TestDecodeIgnoresUnknownFields(t *testing.T) {
	s, err := Decode([]byte(`{"seq":3,"of_a_later_version":1,"devices":[]}`))
	if err != nil || s.Seq != 3 {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Lines that break a rule are errors (invariants 2, 4 and 6).
func TestBadLines(t *testing.T) {
	processes := `{"pid":1}` + strings.Repeat(`,{"pid":1}`, MaxProcessesPerDevice)
	devices := `{"uuid":"","health":"lost","index":0}` + strings.Repeat(`,{"uuid":"","health":"lost"}`, MaxDevices)
	two := `{"uuid":"GPU-a","health":"ok"},{"uuid":"GPU-b","health":"ok","index":1}`
	tests := []struct{ name, line string }{
		{"empty", ""},
		{"not json", "hello"},
		{"two values", `{"seq":1} {"seq":2}`},
		{"wrong type", `{"seq":"one"}`},
		{"negative seq", `{"seq":-1}`},
		{"unknown problem", `{"problem":"moon"}`},
		{"problem with devices", `{"problem":"stale","devices":[{"uuid":"GPU-a","health":"ok"}]}`},
		{"unknown health", `{"devices":[{"uuid":"GPU-a","health":"fine"}]}`},
		{"no uuid", `{"devices":[{"health":"ok"}]}`},
		{"uuid twice", `{"devices":[{"uuid":"GPU-a","health":"ok"},{"uuid":"GPU-a","health":"ok"}]}`},
		{"minor", `{"devices":[{"uuid":"GPU-a","health":"ok","minor":-2}]}`},
		{"index", `{"devices":[{"uuid":"GPU-a","health":"ok","index":-1}]}`},
		{"slice", `{"devices":[{"uuid":"GPU-a","health":"ok","slice":{"card":-1}}]}`},
		{"node of a slice", `{"devices":[{"uuid":"GPU-a","health":"ok","slice":{"caps":[3,-2]}}]}`},
		{"pid", `{"devices":[{"uuid":"GPU-a","health":"ok","processes":[{"pid":0}]}]}`},
		{"used bytes", `{"devices":[{"uuid":"GPU-a","health":"ok","processes":[{"pid":1,"used_bytes":-2}]}]}`},
		{"cpus", `{"devices":[{"uuid":"GPU-a","health":"ok","cpus":"all"}]}`},
		{"link to nowhere", `{"devices":[` + two + `],"links":[{"a":0,"b":2,"kind":"node"}]}`},
		{"link without devices", `{"problem":"stale","links":[{"a":0,"b":1,"kind":"node"}]}`},
		{"link backwards", `{"devices":[` + two + `],"links":[{"a":1,"b":0,"kind":"node"}]}`},
		{"link to itself", `{"devices":[` + two + `],"links":[{"a":1,"b":1,"kind":"node"}]}`},
		{"link below zero", `{"devices":[` + two + `],"links":[{"a":-1,"b":1,"kind":"node"}]}`},
		{"link of no kind", `{"devices":[` + two + `],"links":[{"a":0,"b":1}]}`},
		{"link of an unknown kind", `{"devices":[` + two + `],"links":[{"a":0,"b":1,"kind":"rope"}]}`},
		{"link twice", `{"devices":[` + two + `],"links":[{"a":0,"b":1,"kind":"node"},{"a":0,"b":1,"kind":"node"}]}`},
		{"nvlink without lanes", `{"devices":[` + two + `],"links":[{"a":0,"b":1,"kind":"nvlink"}]}`},
		{"too many lanes", `{"devices":[` + two + `],"links":[{"a":0,"b":1,"kind":"nvlink","lanes":65}]}`},
		{"lanes of another kind", `{"devices":[` + two + `],"links":[{"a":0,"b":1,"kind":"switch","lanes":1}]}`},
		{"too many processes", `{"devices":[{"uuid":"GPU-a","health":"ok","processes":[` + processes + `]}]}`},
		{"too many devices", `{"devices":[` + devices + `]}`},
		{"too long", `{"detail":"` + strings.Repeat("x", MaxLineBytes) + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := Decode([]byte(tt.line)); !errors.Is(err, ErrLine) {
				t.Errorf("got %+v, %v; want ErrLine", s, err)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, s := range []Snapshot{
		{Problem: "moon"},
		{Problem: ProblemStale, Devices: []Device{{UUID: "GPU-a", Health: HealthOK}}},
		{Devices: []Device{{UUID: "GPU-a", Health: HealthOK, CPUs: "0-"}}},
		{Devices: []Device{{UUID: "GPU-a", Health: HealthOK, CPUs: strings.Repeat("0,", MaxCPUsBytes) + "1"}}},
		{Links: []Link{{A: 0, B: 1, Kind: LinkNode}}},
		{Detail: strings.Repeat("x", MaxLineBytes)},
	} {
		if _, err := Encode(s); !errors.Is(err, ErrLine) {
			t.Errorf("got %v, want ErrLine", err)
		}
	}
}

// A line that Decode accepts keeps invariants 2, 3, 4 and 6.
func FuzzDecode(f *testing.F) {
	line, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"problem":"stale","devices":null}`))
	f.Add([]byte(`{"devices":[{"health":"lost"},{"health":"error","processes":[{"pid":9,"comm":"\u001b"}]}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := Decode(line)
		if err != nil {
			return
		}
		if s.Problem != ProblemNone && len(s.Devices) > 0 {
			t.Error("a problem with devices")
		}
		again, err := Encode(s)
		if err != nil {
			t.Fatalf("decoded but cannot be encoded: %v", err)
		}
		if back, err := Decode(again); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("got %+v, %v; want %+v", back, err, s)
		}
	})
}
