package gpu

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseXid(t *testing.T) {
	tests := []struct {
		name, line string
		want       Xid
	}{
		{"driver 304", "NVRM: Xid (0000:03:00): 14, Channel 00000001", Xid{Code: 14, PCI: "0000:03:00", Text: "Channel 00000001"}},
		{"driver 384", "NVRM: Xid (PCI:0000:84:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 1, subpartition 0.",
			Xid{Code: 48, PCI: "0000:84:00", Text: "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 1, subpartition 0."}},
		{"pid without name", "NVRM: Xid (PCI:0000:01:00): 79, pid=1122, GPU has fallen off the bus.", Xid{Code: 79, PCI: "0000:01:00", PID: 1122, Text: "GPU has fallen off the bus."}},
		{"no process", "NVRM: Xid (PCI:0000:23:00): 79, GPU has fallen off the bus.", Xid{Code: 79, PCI: "0000:23:00", Text: "GPU has fallen off the bus."}},
		{"unknown process", "NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter",
			Xid{Code: 13, PCI: "0000:cb:00", Text: "Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter"}},
		{"driver 535", "NVRM: Xid (PCI:0000:00:06): 31, pid=79749, name=exe, Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_7 faulted @ 0x2b57_b3000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
			Xid{Code: 31, PCI: "0000:00:06", PID: 79749, Comm: "exe", Text: "Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_7 faulted @ 0x2b57_b3000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE"}},
		{"row remapper", "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.",
			Xid{Code: 63, PCI: "0000:10:1c", PID: 1896, Text: "Row Remapper: New row marked for remapping, reset gpu to activate."}},
		{"part of a GPU", "NVRM: Xid (PCI:0000:05:00 GPU-I:05): 94, pid=7194, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
			Xid{Code: 94, PCI: "0000:05:00", PID: 7194, Comm: "python3", Text: "Contained: SM (0x1). RST: No, D-RST: No"}},
		{"compute instance", "NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:02): 13, pid=9, name=a, Graphics Exception",
			Xid{Code: 13, PCI: "0000:3b:00", PID: 9, Comm: "a", Text: "Graphics Exception"}},
		{"with a function", "NVRM: Xid (PCI:0000:41:00.0): 43", Xid{Code: 43, PCI: "0000:41:00"}},
		{"driver 590", "NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149",
			Xid{Code: 45, PCI: "0000:dc:00", PID: 1818990, Comm: "python3", Text: "Ch 00000001 caused by previous Xid 149"}},
		{"GSP", "NVRM: Xid (PCI:0000:0f:00): 119, pid=2020, name=nvidia-smi, Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800a6a 0x4).",
			Xid{Code: 119, PCI: "0000:0f:00", PID: 2020, Comm: "nvidia-smi", Text: "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800a6a 0x4)."}},
		{"advice", "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
			Xid{Code: 154, PCI: "0000:3b:00", Text: "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", Recovery: RecoverReset}},
		{"a name of two words", "NVRM: Xid (PCI:0000:3b:00): 43, pid=12, name=a b, Ch 00000010", Xid{Code: 43, PCI: "0000:3b:00", PID: 12, Comm: "a b", Text: "Ch 00000010"}},
		{"long domain, upper case", "NVRM: Xid (PCI:00010000:3B:00): 43", Xid{Code: 43, PCI: "10000:3b:00"}},
		{"a name that plays tricks", "NVRM: Xid (PCI:0000:3b:00): 31, pid=12, name=): 79\x1b[2J, Ch 1", Xid{Code: 31, PCI: "0000:3b:00", PID: 12, Comm: "): 79?[2J", Text: "Ch 1"}},
		{"a pid too large", "NVRM: Xid (PCI:0000:3b:00): 31, pid=4294967295, Ch 1", Xid{Code: 31, PCI: "0000:3b:00", Text: "Ch 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := ParseXid(tt.line); !ok || got != tt.want {
				t.Errorf("got %+v, %t\nwant %+v", got, ok, tt.want)
			}
		})
	}
}

func TestNotAnXid(t *testing.T) {
	for _, line := range []string{
		"", "NVRM:", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14",
		"NVRM: GPU at PCI:0000:3b:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7",
		"NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.",
		"NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:0000:3b:00): ", "NVRM: Xid (PCI:0000:3b:00): x, y",
		"NVRM: Xid (PCI:0000:3b:00): -1, y", "NVRM: Xid (PCI:0000:3b:00): 0, y", "NVRM: Xid (PCI:0000:3b:00): 1024",
		"NVRM: Xid (PCI:0000:3b): 79", "NVRM: Xid (PCI:0000:3bb:00): 79", "NVRM: Xid (): 79",
		"Xid (PCI:0000:3b:00): 79, x", "NVRM: Xid (PCI:0000:3b:00 x): 79, y", "NVRM: Xid (PCI:0000:3b:00 GPU-I:0 x): 79", "NVRM: NVRM: Xid (PCI:0000:3b:00): 79",
		" NVRM: Xid (PCI:0000:3b:00): 79", "NVRM: Xid (PCI:0:3b:00): 79", "NVRM: Xid (PCI:0000:3b:0): 79", "NVRM: Xid (PCI:0000:3b:00):79", "NVRM: Xid (PCI:0000:3b:00): 79 x",
		segfault("Xid (0:7:0 x", "): 79, gone"), segfault("Xid (0:7:0 x", "): 154, GPU recovery action changed from 0x2 (x) to 0x0 (None)"),
		segfault("NVRM: Xid (0:7:", "0): 79, gone"), segfault("NVRM: Xid (PCI:", "0000:07:00): 79, gone"), segfault("NVRM: Xid (0000", ":07:00): 79, gone"),
		"python: NVRM: Xid (PCI:0000:3b:00): 79", "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28006, Non-fatal",
	} {
		if x, ok := ParseXid(line); ok {
			t.Errorf("%q is %+v", line, x)
		}
	}
}

// segfault returns the kernel's line about a process that crashed in a file. Anybody can choose
// both names.
func segfault(comm, file string) string {
	return fmt.Sprintf("%.15s[812]: segfault at 0 ip 000000000040008d sp 00007ffc error 6 in %s[400000+1000] likely on CPU 0 (core 0, socket 0)", comm, file)
}

// A line that begins with the name of a process is never an Xid (invariant 7).
func FuzzForgedXid(f *testing.F) {
	f.Add("Xid (0:7:0 x", "): 79, gone")
	f.Add("NVRM: Xid (PCI:", "0000:07:00): 79, gone")
	f.Add("NVRM: Xid (0000", ":07:00): 154, to 0x0 (None)")
	f.Fuzz(func(t *testing.T, comm, file string) {
		line := segfault(comm[:min(len(comm), 15)], file)
		if x, ok := ParseXid(line); ok {
			t.Errorf("%q is %+v", line, x)
		}
	})
}

// The text of any Xid is printable and bounded (invariant 5).
func FuzzParseXid(f *testing.F) {
	f.Add("NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.")
	f.Add("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
	f.Add("NVRM: Xid (0000:03:00): 14, \xff\x00")
	f.Fuzz(func(t *testing.T, line string) {
		x, ok := ParseXid(line)
		if !ok {
			if x != (Xid{}) {
				t.Errorf("%+v was parsed from a line that is no Xid", x)
			}
			return
		}
		if x.Code < 1 || x.Code > MaxXid || x.PID < 0 || !strings.Contains(line, "Xid (") {
			t.Errorf("%+v", x)
		}
		if x.Text != toPrintable(x.Text, maxXidText) || x.Comm != toPrintable(x.Comm, maxWord) || !utf8.ValidString(x.Text+x.Comm) {
			t.Errorf("%+v is not fit to print", x)
		}
		if !(Device{PCI: x.PCI}).At(x.PCI) {
			t.Errorf("%q does not match its own address", x.PCI)
		}
	})
}

func TestAt(t *testing.T) {
	tests := []struct {
		device, pci string
		want        bool
	}{
		{"00000000:3B:00.0", "0000:3b:00", true},
		{"00010000:3b:00.0", "10000:3b:00", true},
		{"00000000:3B:00.0", "0001:3b:00", false},
		{"00000000:3B:00.0", "0000:3b:01", false},
		{"00000000:3B:00.0", "0000:3c:00", false},
		{"", "", false},
		{"00000000:3B:00.0", "3b:00.0", false},
	}
	for _, tt := range tests {
		if got := (Device{PCI: tt.device}).At(tt.pci); got != tt.want {
			t.Errorf("%q at %q: %t", tt.device, tt.pci, got)
		}
	}
}

func TestDefaultXids(t *testing.T) {
	c := DefaultXids()
	for code, want := range map[int]Recovery{
		13: RecoverJob, 31: RecoverJob, 43: RecoverJob, 45: RecoverJob, 68: RecoverJob,
		63: RecoverNothing, 64: RecoverDrain, 94: RecoverJob,
		48: RecoverReset, 62: RecoverReset, 74: RecoverReset, 95: RecoverReset, 119: RecoverReset, 120: RecoverReset,
		79: RecoverReboot, 1: RecoverNothing, 109: RecoverNothing,
	} {
		if got := c.Of(Xid{Code: code}); got != want {
			t.Errorf("Xid %d needs %q, want %q", code, got, want)
		}
	}
	seen := map[int]bool{}
	for _, list := range [][]int{c.Job, c.Drain, c.Reset, c.Reboot} {
		for i, code := range list {
			if seen[code] || code == XidRecovery || (i > 0 && code <= list[i-1]) {
				t.Errorf("Xid %d is listed twice, out of order, or is the driver's own advice", code)
			}
			seen[code] = true
			if XidName(code) == "" {
				t.Errorf("Xid %d has no name", code)
			}
		}
	}
}

// The driver's advice overrides the configured lists.
func TestRecoveryAdvice(t *testing.T) {
	for text, want := range map[string]Recovery{
		"GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)":          RecoverNothing,
		"GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)":          RecoverReset,
		"GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)":        RecoverReboot,
		"GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)":                   RecoverDrain,
		"GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)":             RecoverReset,
		"GPU recovery action changed from 0x0 (None) to 0x9 (something of a later driver)": RecoverReset,
		"something else": RecoverReset,
	} {
		x, ok := ParseXid("NVRM: Xid (PCI:0000:3b:00): 154, " + text)
		if got := DefaultXids().Of(x); !ok || got != want {
			t.Errorf("%q: needs %q, want %q", text, got, want)
		}
	}
}

func TestRecoveryWords(t *testing.T) {
	for _, r := range Recoveries() {
		if r.Sick() != (r.Next(2, 0) != "") || r.Sick() == (r.Needs() == "nothing") {
			t.Errorf("%q: sick %t, next %q, needs %q", r, r.Sick(), r.Next(2, 0), r.Needs())
		}
	}
	if next := RecoverReset.Next(2, 0); !strings.Contains(next, "nvidia-smi -i 0 --gpu-reset") || !strings.Contains(next, "gpusched gpu undrain 2") {
		t.Error(next)
	}
}
