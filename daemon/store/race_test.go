//go:build race

package store

// slower divides the number of tested faults, because the race detector makes each test slower. A
// few faults are enough here: all of them run the same goroutines.
const slower = 6
