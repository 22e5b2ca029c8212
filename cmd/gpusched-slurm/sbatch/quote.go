package sbatch

import "strings"

// carriageReturn is a variable of the script that contains a carriage return: sbatch refuses
// scripts that contain the character itself.
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

// plainBytes have no special meaning to a shell within a command. "=" and "~" are missing, because
// they have a meaning in some places.
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:@_"
