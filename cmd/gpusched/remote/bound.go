package remote

// An answer may contain one list item for every bytesPerItem bytes, and leastItems items in any
// case. A listing of 100 000 jobs has 600 bytes for each job, including inner lists. Without this
// limit, a job of three bytes would take more than a thousand bytes of the client's memory.
const (
	bytesPerItem = 64
	leastItems   = 100_000
)

// tooMany reports whether an answer has more list items than its length allows.
func tooMany(text []byte) bool { return countItems(text) > leastItems+len(text)/bytesPerItem }

// countItems counts the items of all lists in a JSON text. The text need not be valid.
func countItems(text []byte) (n int) {
	var lists []bool // for each open bracket, the innermost last: whether it opens a list
	in := func() bool { return len(lists) > 0 && lists[len(lists)-1] }
	fresh := false // a list was just opened
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		if fresh && c != ']' {
			n++
		}
		fresh = false
		switch c {
		case '"':
			i = endOfString(text, i)
		case '[', '{':
			lists, fresh = append(lists, c == '['), c == '['
		case ']', '}':
			lists = lists[:max(0, len(lists)-1)]
		case ',':
			if in() {
				n++
			}
		}
	}
	return n
}

// endOfString returns the index of the quotation mark that ends the string at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
