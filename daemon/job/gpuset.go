package job

// GPUSet is a set of GPU indexes, as bits. "" means that there is no set.
type GPUSet string

// GPUSetOf returns the set of the listed indexes. It ignores those that no GPU has.
func GPUSetOf(list []int) GPUSet {
	if len(list) == 0 {
		return ""
	}
	bits := make([]byte, 1, MaxGPUs/8)
	for _, i := range list {
		if i < 0 || i >= MaxGPUs {
			continue // no GPU has this index
		}
		bits = append(bits, make([]byte, max(0, i/8+1-len(bits)))...)
		bits[i/8] |= 1 << (i % 8)
	}
	return GPUSet(bits)
}

// Has reports whether the set has a GPU.
func (s GPUSet) Has(index int) bool { return index/8 < len(s) && s[index/8]>>(index%8)&1 == 1 }

// Tighter returns the stricter of two limits. A limit of 0 means that there is no limit.
func Tighter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
