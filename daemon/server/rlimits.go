package server

import (
	"math"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// limitNames maps the rows of /proc/PID/limits (Linux, fs/proc/base.c) to the part of systemd's
// names after "Limit". The numbers are those of getrlimit(2).
var limitNames = map[string]string{
	"Max cpu time": "CPU", "Max file size": "FSIZE", "Max data size": "DATA", "Max stack size": "STACK",
	"Max core file size": "CORE", "Max resident set": "RSS", "Max processes": "NPROC", "Max open files": "NOFILE",
	"Max locked memory": "MEMLOCK", "Max address space": "AS", "Max file locks": "LOCKS",
	"Max pending signals": "SIGPENDING", "Max msgqueue size": "MSGQUEUE", "Max nice priority": "NICE",
	"Max realtime priority": "RTPRIO", "Max realtime timeout": "RTTIME",
}

// limitNameWidth is the width of the first column of /proc/PID/limits.
const limitNameWidth = 26

// parseLimits reads the table. It skips rows that it does not know or cannot read.
// For these, systemd's defaults stay in force.
func parseLimits(text string) []contract.Limit {
	var list []contract.Limit
	for line := range strings.Lines(text) {
		if len(line) < limitNameWidth {
			continue
		}
		name, known := limitNames[strings.TrimSpace(line[:limitNameWidth])]
		values := strings.Fields(line[limitNameWidth:])
		if !known || len(values) < 2 {
			continue
		}
		soft, errSoft := parseLimit(values[0])
		hard, errHard := parseLimit(values[1])
		if errSoft == nil && errHard == nil {
			list = append(list, contract.Limit{Name: name, Soft: soft, Hard: hard})
		}
	}
	return list
}

func parseLimit(text string) (uint64, error) {
	if text == "unlimited" {
		return math.MaxUint64, nil
	}
	return strconv.ParseUint(text, 10, 64)
}
