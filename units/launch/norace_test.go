//go:build !race

package launch

// raced reports whether the race detector is on.
const raced = false
