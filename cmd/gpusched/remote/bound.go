package remote

// An answer of another machine may have an item of a list for so many bytes, and in any case so many: a listing of
// 100 000 jobs has 600 bytes for each, and lists within. A job of three bytes takes the client more than a thousand.
const (
	bytesPerItem = 64
	leastItems   = 100_000
)

// tooMany reports whether an answer has more items than its length explains.
func tooMany(text []byte) bool { return items(text) > leastItems+len(text)/bytesPerItem }

// items counts the items of all lists in a JSON text, right or wrong.
func items(text []byte) (n int) {
	var lists []bool // of what is open around, the innermost last: whether that is a list
	in := func() bool { return len(lists) > 0 && lists[len(lists)-1] }
	fresh := false // a list has begun, and nothing in it
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

// endOfString is where the string ends that begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
