package api

import "strings"

// Nearest returns the known word that a mistyped one was probably meant to be,
// or "" when none is close. The first of equally close words wins.
func Nearest(word string, known []string) string {
	best, bestDist := "", max(1, len(word)/3)+1
	for _, k := range known {
		d := distance(strings.ToLower(word), strings.ToLower(k))
		if d > 0 && len(word) >= 3 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)) {
			d = 1 // an abbreviation or an ending too many
		}
		if d < bestDist {
			best, bestDist = k, d
		}
	}
	return best
}

// distance is Levenshtein's: the least number of letters to insert, drop or
// change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diag
			if a[i] != b[j] {
				change++
			}
			diag = row[j+1]
			row[j+1] = min(change, diag+1, row[j]+1)
		}
	}
	return row[len(b)]
}
