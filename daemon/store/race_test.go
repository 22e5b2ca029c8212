//go:build race

package store

// slower divides the number of faults under the race detector. All of them run without it, and use
// the same goroutines.
const slower = 6
