//go:build machine

package main

import (
	"os/exec"
	"testing"
)

// A machine with islands has eight GPUs and their device nodes.
func TestIslandsAreThere(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), build(t), "-fake-gpus=islands", "box", "--", "bash", "-c",
		"stat -c '%n %t:%T %a' /dev/nvidia[4-7]; grep -c island /run/fakenvml/gpus").Output()
	want := "/dev/nvidia4 c3:4 666\n/dev/nvidia5 c3:5 666\n/dev/nvidia6 c3:6 666\n/dev/nvidia7 c3:7 666\n8\n"
	if err != nil || string(out) != want {
		t.Errorf("got %q, %v", out, err)
	}
}
