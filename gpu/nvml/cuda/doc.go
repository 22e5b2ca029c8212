// Package cuda tests with CUDA whether a GPU computes: it adds two vectors on the GPU and checks
// the sums, which takes 48 MiB of the GPU. It also parks processes: the driver copies their GPU
// memory to the host and takes the GPUs from them, and later gives these or others to them (Park,
// Unpark). Which of this is done already is the driver's knowledge alone, so it survives this process.
//
// It needs no CUDA toolkit, and loads the driver's libcuda.so.1 at run time. Like package nvml it
// needs cgo, and belongs in a process of its own: a call into the driver may hang.
package cuda
