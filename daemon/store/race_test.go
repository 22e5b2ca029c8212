//go:build race

package store

// slower is how many times fewer faults there are with the race detector, which makes
// SQLite twelve times as slow: all of them run without it, and meet the same
// goroutines.
const slower = 6
