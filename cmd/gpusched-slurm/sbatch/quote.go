package sbatch

import "strings"

// carriage is the variable of the script that holds a carriage return: sbatch refuses a
// script with one before the end of a line.
const carriage = "gs_cr"

// quote makes one word of a POSIX shell that is s, byte for byte.
func quote(s string) string {
	if s != "" && strings.Trim(s, plainBytes) == "" {
		return s
	}
	s = strings.ReplaceAll(s, "'", `'\''`)
	s = strings.ReplaceAll(s, "\r", `'"$`+carriage+`"'`)
	return "'" + s + "'"
}

// plainBytes mean nothing to a shell in the middle of a command. "=" and "~" do at
// places in a word.
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:@_"
