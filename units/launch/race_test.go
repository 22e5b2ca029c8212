//go:build race

package launch

// This constant reports whether the race detector is on.
const raced = true
