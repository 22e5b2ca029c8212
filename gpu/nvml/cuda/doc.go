// Package cuda tests with CUDA whether a GPU computes: it adds two vectors on the GPU and checks
// the sums. It needs no CUDA toolkit, loads the driver's libcuda.so.1 at run time and uses 48 MiB
// of the GPU. Like package nvml it needs cgo, and belongs in a process of its own: a call into the
// driver may hang.
package cuda
