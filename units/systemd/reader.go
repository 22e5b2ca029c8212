package systemd

import "encoding/binary"

// reader reads a message of D-Bus in the order of bytes of small machines, without copies.
// After what is no such message it is bad, and stays so.
type reader struct {
	data []byte
	at   int
	bad  bool
}

func (r *reader) skip(n int) []byte {
	if r.bad || n < 0 || n > len(r.data)-r.at {
		r.bad = true
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) align(to int) { r.skip((to - r.at%to) % to) }

func (r *reader) byte() byte {
	if b := r.skip(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	r.align(4)
	if b := r.skip(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// text reads a string.
func (r *reader) text() []byte {
	s := r.skip(int(r.uint32()))
	r.skip(1)
	return s
}

// short reads a signature.
func (r *reader) short() []byte {
	s := r.skip(int(r.byte()))
	r.skip(1)
	return s
}

// variant reads a value of the type that it names. It returns the bytes of a string or a
// signature, and nothing of anything else.
func (r *reader) variant() []byte {
	signature := r.short()
	switch string(signature) {
	case "s", "o":
		return r.text()
	case "g":
		return r.short()
	}
	if rest := r.value(signature, 0); len(rest) != 0 {
		r.bad = true
	}
	return nil
}

// bytes reads a value that names its type, an array of bytes.
func (r *reader) bytes() []byte {
	if string(r.short()) != "ay" {
		r.bad = true
		return nil
	}
	return r.skip(int(r.uint32()))
}

// number reads a value that names its type, a number without a sign of 64 bits.
func (r *reader) number() uint64 {
	if string(r.short()) != "t" {
		r.bad = true
		return 0
	}
	r.align(8)
	if b := r.skip(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// deepest is how deep values may be in others.
const deepest = 32

// value skips a value of the first type of a signature, and returns the rest of that.
func (r *reader) value(signature []byte, depth int) (rest []byte) {
	if len(signature) == 0 || depth > deepest || r.bad {
		r.bad = true
		return nil
	}
	kind, rest := signature[0], signature[1:]
	switch size := alignment(kind); kind {
	case 's', 'o':
		r.text()
	case 'g':
		r.short()
	case 'v':
		if rest := r.value(r.short(), depth+1); len(rest) != 0 {
			r.bad = true
		}
	case 'a':
		n := int(r.uint32())
		elements := rest
		if rest = skipType(rest, depth+1); rest == nil {
			r.bad = true
			return nil
		}
		r.align(alignment(elements[0]))
		r.skip(n)
	case '(', '{':
		r.align(8)
		for len(rest) > 0 && rest[0] != ')' && rest[0] != '}' && !r.bad {
			rest = r.value(rest, depth+1)
		}
		if len(rest) == 0 {
			r.bad = true
			return nil
		}
		rest = rest[1:]
	default:
		r.bad = r.bad || size == 0
		r.align(max(size, 1))
		r.skip(size)
	}
	return rest
}

// alignment is that of a value by the first letter of its type, which is its size, too,
// where that is fixed; 0 where there is no such letter.
func alignment(kind byte) int {
	switch kind {
	case 'y', 'g', 'v':
		return 1
	case 'n', 'q':
		return 2
	case 'b', 'i', 'u', 'h', 's', 'o', 'a':
		return 4
	case 'x', 't', 'd', '(', '{':
		return 8
	}
	return 0
}

// skipType returns what follows the first type of a signature; nil where that is none.
func skipType(signature []byte, depth int) []byte {
	if len(signature) == 0 || depth > deepest || alignment(signature[0]) == 0 {
		return nil
	}
	rest := signature[1:]
	switch signature[0] {
	case 'a':
		return skipType(rest, depth+1)
	case '(', '{':
		for len(rest) > 0 && rest[0] != ')' && rest[0] != '}' {
			if rest = skipType(rest, depth+1); rest == nil {
				return nil
			}
		}
		if len(rest) == 0 {
			return nil
		}
		return rest[1:]
	}
	return rest
}
