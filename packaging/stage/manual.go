package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/config"
)

// settingsManual generates gpusched.toml(5) from the keys of daemon/config.
func settingsManual(date time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, `.\" Made from the table of settings in daemon/config; do not edit.
.TH GPUSCHED.TOML 5 "%s" "gpusched" "gpusched manual"
.SH NAME
gpusched.toml \- settings of the GPU job scheduler
.SH SYNOPSIS
.nf
.I %s
.I %s/*.toml
.fi
.SH DESCRIPTION
The files are TOML. The daemon reads the main file first, then the others in the order of their
names; the last value of a key counts.
A key that no file sets has its default, and no file need exist.
Unknown keys, wrong types and values out of range are errors.
.PP
.BR gpuschedd (8)
acts on the settings as root, so it reads only regular files that belong to root and that nobody
else can write.
It reads them when it starts and when it is reloaded. If any file has an error, a reload changes
nothing, and the daemon does not start to work.
.PP
Sizes are written as
.BR """512M""" ,
.B """16G"""
or
.BR """1.5T""" ,
durations as
.BR """30s""" ,
.BR """10m""" ,
.BR """2h""" ,
.B """1h30m"""
or
.BR """2d""" .
.PP
A section such as [quota.user.NAME] stands for any number of sections, each with a user or group
of the site in the place of the last word.
A name with a dot or a backslash is written in quotes: [quota.user."first.last"].
`, date.Format(time.DateOnly), config.MainFile, config.DropInDir)
	for _, section := range config.Sections() {
		fmt.Fprintf(&b, ".SH SECTION [%s]\n%s\n", section.Name, manual.Roff(section.Doc))
		for _, k := range config.Keys() {
			if k.Section == section.Name {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n.br\n%s. Default:\n.BR %s .\n",
					manual.Roff(k.Name), manual.Roff(k.Doc), manual.Roff(upperFirst(k.Form)), manual.Quoted(k.Default))
			}
		}
	}
	b.WriteString(manualTail)
	return b.String()
}

const manualTail = `.SH EXAMPLES
Reserve GPU 0 for people who work on the machine itself, and end jobs after two days:
.PP
.nf
.RS
[gpus]
only = [1, 2, 3]

[jobs]
default_time = "4h"
max_time = "2d"
.RE
.fi
.PP
On a machine with eight GPUs, let each user have four, alice six, and all students together two:
.PP
.nf
.RS
[quota.default]
gpus = 4

[quota.user.alice]
gpus = 6

[quota.group.students]
gpus = 2
.RE
.fi
.PP
Look for mistakes, then put the settings into force:
.PP
.nf
.RS
gpusched config check && systemctl reload gpusched
.RE
.fi
.SH SEE ALSO
.BR gpusched (1),
.BR gpusched\-policy (7),
.BR gpuschedd (8)
.PP
.B gpusched config schema
prints a JSON Schema for editors;
.B gpusched config show \-\-origin
prints where each value in force comes from.
`

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
