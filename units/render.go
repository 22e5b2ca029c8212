package units

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cgroup/cpuset"
)

// Line is one property as a unit file spells it.
type Line struct {
	Name string
	Text string
}

// Render returns properties as lines of a unit file, for a dry run. A property with several values
// has several lines.
func Render(props []Property) []Line {
	var lines []Line
	for _, p := range props {
		for _, text := range texts(p) {
			lines = append(lines, Line{p.Name, text})
		}
	}
	return lines
}

func texts(p Property) []string {
	switch v := p.Value.(type) {
	case bool:
		if v {
			return []string{"yes"}
		}
		return []string{"no"}
	case uint64:
		return []string{amount(p.Name, v)}
	case []string:
		return v
	case []byte:
		return []string{cpuset.Set(v).String()}
	case []ExecCommand:
		var list []string
		for _, c := range v {
			list = append(list, strings.Join(c.Args, " "))
		}
		return list
	case Auxiliary:
		return nil // another unit
	case []DeviceAllow:
		var list []string
		for _, d := range v {
			list = append(list, d.Path+" "+d.Access)
		}
		return list
	case [][]byte:
		var list []string
		for _, field := range v {
			list = append(list, string(field))
		}
		return list
	}
	return []string{fmt.Sprint(p.Value)}
}

func amount(name string, n uint64) string {
	switch {
	case n == Infinity:
		return "infinity"
	case strings.HasSuffix(name, "USec"):
		return strconv.FormatUint(n, 10) + "us"
	}
	return strconv.FormatUint(n, 10)
}
