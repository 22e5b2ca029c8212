package config

import (
	"fmt"
	"strings"
)

// width is the number of columns of a comment in the output.
const width = 76

// Show returns the settings in force as TOML. Reading that TOML gives the same settings. If origins
// is not nil, each line says where its value comes from.
func Show(c Config, origins Origins) string {
	var b strings.Builder
	section := ""
	for _, k := range keysIn(&c) {
		if k.section != section {
			if section != "" {
				b.WriteByte('\n')
			}
			section = k.section
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s = %s", k.name, k.bind(&c).spell())
		if origins != nil {
			b.WriteString("  # " + origins.of(k))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (o Origins) of(k key) string {
	if at, ok := o[k.full()]; ok {
		return at.line()
	}
	if at, ok := o[k.fallback]; ok {
		return at.line() + ", " + k.fallback
	}
	return "default"
}

func (o Origin) line() string { return fmt.Sprintf("%s:%d", printKey([]string{o.File}), o.Line) }

// Sample returns the file that the package installs. It has every key with its meaning and its
// default, commented out, and examples of the named sections.
func Sample() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Settings of gpusched. Every key is shown with its default. To change one,
# remove the # in front of it. Files %s/*.toml are read after
# this one in the order of their names, and the last value of a key counts.
#
#   gpusched config check     check the files before they apply
#   systemctl reload gpusched apply the files; running jobs continue
#
# Sizes: 512M, 16G, 1.5T. Durations: 30s, 10m, 2h, 1h30m, 2d.
# In more detail: man gpusched.toml
`, DropInDir)
	defaults := Default()
	for _, s := range sections() {
		b.WriteString("\n" + Wrap(s.doc, "# ", "# ", width))
		if s.placeholder != "" {
			b.WriteString("#\n" + commented(s.example))
			continue
		}
		fmt.Fprintf(&b, "[%s]\n", s.name())
		for _, k := range s.keysOf("") {
			fmt.Fprintf(&b, "\n%s#%s = %s\n", Wrap(k.doc, "# ", "# ", width), k.name, k.bind(&defaults).spell())
		}
	}
	return b.String()
}

func commented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("#" + line)
	}
	return b.String()
}

// Wrap breaks a text into lines of at most width characters. The first line begins with
// firstIndent, and each other line with indent.
func Wrap(text, firstIndent, indent string, width int) string {
	var b strings.Builder
	line, prefix := firstIndent, firstIndent
	for word := range strings.FieldsSeq(text) {
		if len(line) > len(prefix) && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line, prefix = indent, indent
		}
		if len(line) > len(prefix) {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}
