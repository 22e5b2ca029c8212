package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
)

// contentHash is the same for submissions that do the same: by the command, the
// directory, the mode of the environment and the variables set with --set-env,
// in any order. What the environment inherits beyond that does not count: it
// differs from shell to shell in ways that do not matter.
func contentHash(argv []string, dir, mode string, set []string) string {
	set = slices.Sorted(slices.Values(set))
	h := sha256.New()
	for _, list := range [][]string{argv, {dir, mode}, set} {
		io.WriteString(h, strconv.Itoa(len(list))+"\n")
		for _, s := range list {
			io.WriteString(h, strconv.Itoa(len(s))+"\n"+s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}
