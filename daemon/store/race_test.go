//go:build race

package store

// slower divides the number of tested faults under the race detector. Without the detector all
// faults are tested, with the same goroutines.
const slower = 6
