package units

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// Pattern matches all units of jobs.
const Pattern = contract.UnitPrefix + "*" + contract.UnitSuffix

// Name returns the unit of job id, "gpujob-42.service".
func Name(id int64) string {
	return contract.UnitPrefix + strconv.FormatInt(id, 10) + contract.UnitSuffix
}

// ParseName returns the job whose unit has this name, or false for any other name. Each job has
// exactly one name, so a number with a sign or leading zeros, 0, or too large a number is refused.
func ParseName(name string) (int64, bool) {
	rest, ok := strings.CutPrefix(name, contract.UnitPrefix)
	if !ok {
		return 0, false
	}
	digits, ok := strings.CutSuffix(rest, contract.UnitSuffix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || id <= 0 || Name(id) != name {
		return 0, false
	}
	return id, true
}

// SlicePattern matches the slices that single jobs have.
const SlicePattern = "gpujobs-u*-j*.slice"

// JobSlice returns the slice of a job that has its own slice, "gpujobs-u1001-j42.slice". It is a
// part of the slice of the user's jobs.
func JobSlice(uid int, id int64) string {
	return "gpujobs-u" + strconv.Itoa(uid) + "-j" + strconv.FormatInt(id, 10) + ".slice"
}

// ParseJobSlice returns the user and the job whose slice has this name, or false for any other
// name.
func ParseJobSlice(name string) (uid int, id int64, ok bool) {
	rest, _ := strings.CutPrefix(name, "gpujobs-u")
	user, rest, _ := strings.Cut(rest, "-j")
	digits, _ := strings.CutSuffix(rest, ".slice")
	uid, err := strconv.Atoi(user)
	id, wrong := strconv.ParseInt(digits, 10, 64)
	if err != nil || wrong != nil || uid < 0 || id <= 0 || JobSlice(uid, id) != name {
		return 0, 0, false
	}
	return uid, id, true
}

// Slice returns the slice of a user's jobs, "gpujobs-u1001.slice", which is a part of
// gpujobs.slice. An administrator may limit it with an ordinary drop-in.
func Slice(uid int) string { return "gpujobs-u" + strconv.Itoa(uid) + ".slice" }
