//go:build race

package store

// slower is how many times fewer faults there are with the race detector: all of them
// run without it, and meet the same goroutines.
const slower = 6
