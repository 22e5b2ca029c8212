// Package driver reads which NVIDIA driver the kernel has loaded and which one is installed on
// disk. It opens two files and resolves two links, and calls no library.
//
// Invariant 1: a version that can't be read is unknown, and never differs from another.
package driver
