package job

import "strings"

// Nearest returns the known word that a word was probably meant to be, or "" if none is close. A
// known word is close if at most three letters, and at most a third of them, differ, or if one word
// is the beginning of the other. If several are equally close, the first wins.
func Nearest(word string, known []string) string {
	best, limit := "", max(1, min(len(word)/3, 3))+1
	for _, k := range known {
		d := limit
		switch {
		case word == k:
			return k
		case len(word) >= 3 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)):
			d = 1 // the word is an abbreviation, or has an extra ending
		case len(word)-len(k) < limit && len(k)-len(word) < limit:
			d = distance(strings.ToLower(word), strings.ToLower(k))
		}
		if d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance returns the smallest number of edits that turn a into b. An edit inserts, deletes or
// changes a letter, or swaps two neighbours.
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
