package job

// ascii reports whether s is pure ASCII. Comparing case is safe only then: the upper case of a
// dotless i is I.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
