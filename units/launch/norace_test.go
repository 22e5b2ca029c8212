//go:build !race

package launch

// raceEnabled reports whether the race detector is on.
const raceEnabled = false
