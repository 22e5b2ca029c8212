//go:build race

package store

// slower divides the number of faults that are tested under the race detector, which makes each
// test slower. The goroutines are the same.
const slower = 6
