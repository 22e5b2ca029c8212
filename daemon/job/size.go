package job

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are powers of 1024, as in systemd and NVML.
var sizeUnits = map[string]float64{
	"B": 1,
	"K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10,
	"M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20,
	"G": 1 << 30, "GB": 1 << 30, "GIB": 1 << 30,
	"T": 1 << 40, "TB": 1 << 40, "TIB": 1 << 40,
}

// MaxSize is the largest size that can be asked for: 1 PiB.
const MaxSize = int64(1) << 50

// ParseSize reads a size such as 20G, "20 GiB", 512m, 1.5T or 4096B. It returns bytes, above 0 and
// at most MaxSize. It refuses a number without a unit: people who write 64 seldom mean bytes, and
// other tools take it for MiB. It rounds fractions of a byte up, so that FormatSize prints 1.1G as
// 1.1G.
func ParseSize(s string) (int64, error) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	num, unit := s, ""
	if i >= 0 {
		num, unit = s[:i], strings.ToUpper(strings.TrimPrefix(s[i:], " "))
	}
	scale, known := sizeUnits[unit]
	known = known && isASCII(s) && !strings.HasSuffix(s, " ")
	v, err := strconv.ParseFloat(num, 64)
	if err == nil && i < 0 {
		return 0, bareSize(s, v)
	}
	if err != nil || !known {
		return 0, fmt.Errorf("%q is not a size: use a number with K, M, G or T, such as 20G", s)
	}
	bytes := v * scale
	if bytes < 1 || bytes > float64(MaxSize) {
		return 0, fmt.Errorf("size %q is out of range: use 1 byte to 1024T", s)
	}
	return int64(math.Ceil(bytes)), nil
}

// bareSize returns the error for a number without a unit.
func bareSize(s string, v float64) error {
	switch {
	case v == 0:
		return fmt.Errorf("size %q is out of range: use 1 byte to 1024T", s)
	case v < 1<<20:
		return fmt.Errorf("%s has no unit; write %sM or %sG", s, s, s)
	}
	return fmt.Errorf("%s has no unit; write %sB, or use K, M, G or T", s, s)
}

// FormatSize prints bytes with at most one decimal, such as "20G" or "1.5G". It rounds down, so
// that free memory never looks like more than it is.
func FormatSize(n int64) string {
	units := []struct {
		name string
		size int64
	}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}
	for _, u := range units {
		if n >= u.size {
			whole, tenths := n/u.size, n%u.size*10/u.size
			if tenths == 0 {
				return strconv.FormatInt(whole, 10) + u.name
			}
			return fmt.Sprintf("%d.%d%s", whole, tenths, u.name)
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// RoundSizeUp returns the next larger size that FormatSize prints exactly.
func RoundSizeUp(n int64) int64 {
	unit, parts := int64(1)<<30, int64(10)
	if n < unit {
		unit, parts = 1<<20, 1
	}
	tenths := (n*parts + unit - 1) / unit
	return (tenths*unit + parts - 1) / parts
}

// Size is a number of bytes that messages print as text.
type Size int64

func (n Size) String() string { return FormatSize(int64(n)) }

// MarshalText keeps the printed form in a stored Message.
func (n Size) MarshalText() ([]byte, error) { return []byte(n.String()), nil }
