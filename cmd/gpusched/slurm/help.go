package slurm

import "strings"

// Help returns a line for each option with a meaning here, and a list of the ignored options.
func Help() (lines []string, without string) {
	var rest []string
	for _, o := range options {
		name := "--" + strings.Join(o.names(), ", --")
		if o.about == "" {
			b := &Batch{}
			if o.read(b, name, "") == nil && len(b.ignored) > 0 {
				rest = append(rest, name)
			}
			continue
		}
		if o.short != 0 {
			name = "-" + string(o.short) + ", " + name
		}
		if o.value == required {
			name += " VALUE"
		}
		lines = append(lines, name+"\t"+o.about)
	}
	return lines, strings.Join(rest, ", ")
}
