package job

// isASCII reports whether s is pure ASCII. Only then is it safe to ignore case: the upper case of a
// dotless i is I.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
