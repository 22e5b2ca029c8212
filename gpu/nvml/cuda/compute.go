package cuda

// #cgo LDFLAGS: -ldl
// #include "library.h"
import "C"

import "github.com/gpusched/gpusched/gpu"

// Compute adds two vectors on the first GPU that CUDA shows this process, and checks the sums. It
// may hang. The second result is the reason why the GPU is not well.
func Compute() (gpu.Proof, string) {
	var why [256]C.char
	result := C.cuda_compute(&why[0], C.ulong(len(why)))
	switch text := C.GoString(&why[0]); result {
	case C.CUDA_WELL:
		return gpu.ProofWell, ""
	case C.CUDA_WRONG_SUMS:
		return gpu.ProofWrongSums, text
	case C.CUDA_NO_LIBRARY:
		return gpu.ProofNoLibrary, text
	default:
		return gpu.ProofError, text
	}
}
