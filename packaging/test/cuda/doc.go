// Package cuda builds cudasum, a small program that computes with CUDA on every GPU that it is shown, for the tests on
// machines with a GPU (packaging/test/suite, TestRealGPU…). It needs a C compiler and no CUDA toolkit: what it uses of
// the driver's libcuda.so.1 it finds when it runs, and its kernel is text that the driver compiles.
//
// The program prints a line "device I UUID GPU-… PCI … NAME …" and a line "sum ok" for each GPU, and exits with 3 and
// "cuInit: N NAME" where CUDA finds none. With --help it says what else it can do.
//
// Nothing here is linked into a program that is shipped.
//
// Invariants:
//
//  1. It runs with a C library older than the one that it was built with, down to that of Debian 12.
//  2. Without a driver it says which library is missing, and does not end as it does without a GPU.
package cuda
