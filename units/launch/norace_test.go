//go:build !race

package launch

// raced says whether the race detector is on.
const raced = false
