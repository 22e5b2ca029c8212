package job

import "strings"

// Nearest returns the known word that a word is or was probably meant to be, or "" if none is
// close: at most three letters and a third of them may differ, or one may be the beginning of the
// other. The first of equally close words wins.
func Nearest(word string, known []string) string {
	best, limit := "", max(1, min(len(word)/3, 3))+1
	for _, k := range known {
		d := limit
		switch {
		case word == k:
			return k
		case len(word) >= 3 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)):
			d = 1 // an abbreviation, or an ending too many
		case len(word)-len(k) < limit && len(k)-len(word) < limit:
			d = distance(strings.ToLower(word), strings.ToLower(k))
		}
		if d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance returns the least number of insertions, deletions, changes and swaps of neighbours that
// turn a into b.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
