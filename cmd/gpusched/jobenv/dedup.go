package jobenv

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/units/contract"
)

// ContentHash is the same for submissions that do the same: by the command, the
// directory, the mode of the environment, the variables set with --set-env,
// in any order, and the set-up. What the environment inherits beyond that does not count: it
// differs from shell to shell in ways that do not matter.
func ContentHash(argv []string, dir, mode string, set []string, setup ...string) string {
	set = slices.Sorted(slices.Values(set))
	h := sha256.New()
	lists := [][]string{argv, {dir, mode}, set}
	if len(setup) > 0 {
		lists = append(lists, setup)
	}
	for _, list := range lists {
		io.WriteString(h, strconv.Itoa(len(list))+"\n")
		for _, s := range list {
			io.WriteString(h, strconv.Itoa(len(s))+"\n"+s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// SetupWords are a set-up as words, none where nothing is to be done.
func SetupWords(s contract.Setup) []string {
	if s.IsZero() {
		return nil
	}
	return append([]string{s.Conda, s.Venv, s.Command, strconv.FormatBool(s.CUDAArg), s.Compat}, s.Modules...)
}
