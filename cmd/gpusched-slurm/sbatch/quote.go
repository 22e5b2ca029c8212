package sbatch

import "strings"

// carriageReturn is the script's variable for a carriage return: sbatch refuses scripts that
// contain one.
const carriageReturn = "gs_cr"

// quote quotes s as one word of a POSIX shell, byte for byte.
func quote(s string) string {
	if s != "" && strings.Trim(s, plainBytes) == "" {
		return s
	}
	s = strings.ReplaceAll(s, "'", `'\''`)
	s = strings.ReplaceAll(s, "\r", `'"$`+carriageReturn+`"'`)
	return "'" + s + "'"
}

// plainBytes mean nothing to a shell within a command. "=" and "~" are missing, since they do in
// some places.
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:@_"
