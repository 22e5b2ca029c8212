//go:build race

package store

// slower divides the number of faults that are tested under the race detector, which makes each
// test slower. Fewer faults still run the same goroutines.
const slower = 6
