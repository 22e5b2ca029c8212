package jobenv

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/units/contract"
)

// ContentHash returns the same hash for submissions that do the same. It covers the command,
// directory, environment mode, set-up, and the variables of --set-env in any order. Inherited
// variables do not count, since they differ between shells in ways that do not matter.
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

// SetupWords encodes a set-up as words. An empty set-up gives no words.
func SetupWords(s contract.Setup) []string {
	if s.IsZero() {
		return nil
	}
	return append([]string{s.Conda, s.Venv, s.Command, strconv.FormatBool(s.CUDAArg), s.Compat}, s.Modules...)
}
