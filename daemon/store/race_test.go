//go:build race

package store

// slower divides the number of tested faults, because the race detector makes each test slower. A
// few faults are enough here, because the same goroutines run whichever call fails.
const slower = 6
