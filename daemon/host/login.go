package host

import (
	"os"
	"strconv"
	"strings"
)

// usualFirstUID is the value of UID_MIN if nobody has changed it.
const usualFirstUID = 1000

// FirstUID returns the lowest uid of a person's account: UID_MIN of login.defs(5).
func FirstUID(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return usualFirstUID
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "UID_MIN" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				return n
			}
		}
	}
	return usualFirstUID
}
