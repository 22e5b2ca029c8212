package job

// ascii reports whether s has no byte outside ASCII. Upper and lower case are
// trusted only there: a dotless i is an I in upper case.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
