package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// A Proof is what a test with CUDA found out about a GPU.
type Proof string

const (
	ProofWell      Proof = "well"
	ProofError     Proof = "error"      // a call of CUDA failed
	ProofWrongSums Proof = "wrong-sums" // the GPU computes wrongly
	ProofHang      Proof = "hang"       // CUDA did not return in time
	ProofCheck     Proof = "check"      // the site's own check failed
	ProofNotReady  Proof = "not-ready"  // the machine's GPUs are still being set up
	ProofNoLibrary Proof = "no-library" // there is no libcuda.so.1, so nothing was tested
	ProofUnknown   Proof = "unknown"    // the test says nothing about the GPU
)

// NoCUDA is the text of ProofNoLibrary. A missing library is no fault of the machine.
const NoCUDA = "there is no libcuda.so.1"

// Sick reports whether the GPU must not get jobs.
func (p Proof) Sick() bool {
	return p == ProofError || p == ProofWrongSums || p == ProofHang || p == ProofCheck
}

// Exit statuses of gpusched-nvml --cuda.
const (
	exitError     = 3
	exitWrongSums = 4
	exitNoLibrary = 5
)

// Status returns the exit status of gpusched-nvml --cuda.
func (p Proof) Status() int {
	return map[Proof]int{ProofError: exitError, ProofWrongSums: exitWrongSums, ProofNoLibrary: exitNoLibrary}[p]
}

// ProofOf returns what an exit status and the text of gpusched-nvml --cuda say about the GPU. The
// text is "CALL: NUMBER NAME" after an error.
func ProofOf(status int, text string) Proof {
	switch status {
	case 0:
		return ProofWell
	case exitWrongSums:
		return ProofWrongSums
	case exitNoLibrary:
		return ProofNoLibrary
	case exitError:
		switch n := cudaError(text); {
		case n == errorNotReady:
			return ProofNotReady
		case slices.Contains(errorsOfTheTest, n):
			return ProofUnknown
		}
		return ProofError
	}
	return ProofUnknown
}

// errorsOfTheTest are errors that say nothing about the GPU.
var errorsOfTheTest = []int{
	0,                       // the text names no error of CUDA
	2,                       // others use all of the GPU's memory
	34,                      // libcuda.so.1 is a stub
	46,                      // another program has the GPU to itself
	200, 209, 218, 222, 223, // the GPU or the driver is too old or too new for the test's kernel
	221,                          // the compiler of PTX is not installed
	805, 806, 807, 808, 809, 810, // the GPU is shared by an MPS that does not serve the test
}

// Numbers of CUDA's errors.
const (
	errorNotReady       = 802 // such as until NVIDIA's fabric manager has started
	errorDriverMismatch = 803 // the library and the kernel module are of different drivers
)

func cudaError(text string) (n int) {
	_, after, _ := strings.Cut(text, ": ")
	if _, err := fmt.Sscan(after, &n); err != nil {
		return 0
	}
	return n
}

// Needs returns what a GPU needs if its test had this result. The argument text is what the test
// wrote.
func (p Proof) Needs(text string) Recovery {
	switch {
	case !p.Sick():
		return RecoverNothing
	case p == ProofCheck || p == ProofError && cudaError(text) == errorNotReady:
		return RecoverDrain
	case p == ProofError && cudaError(text) == errorDriverMismatch:
		return RecoverReboot
	}
	return RecoverReset
}
