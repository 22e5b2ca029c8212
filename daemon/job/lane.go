package job

import (
	"math"
	"strconv"
	"strings"
)

// Lane is a lane as people write it: its name, such as "sweep", or with a limit, as in "sweep=2". Of
// the jobs of one account in a lane, only that many run at once.
type Lane string

// MaxLane is the largest limit of a lane.
const MaxLane = 10_000

// ParseLane reads a lane.
func ParseLane(s string) (Lane, error) {
	var p Problems
	if Lane(s).check(&p); s == "" {
		p.add("usage/lane", s, MaxLane, MaxNameBytes)
	}
	return Lane(s), p.Err()
}

// Name returns the lane's name.
func (l Lane) Name() string {
	name, _, _ := l.cut()
	return name
}

// Limit returns how many jobs of the account may run at once. If the job does not name a number,
// that is one, or any number in a lane of the site, which has a limit of its own.
func (l Lane) Limit(ofSite bool) int {
	switch _, n, named := l.cut(); {
	case named:
		return n
	case ofSite:
		return math.MaxInt
	}
	return 1
}

// cut returns the name and the number. A name may itself contain "=".
func (l Lane) cut() (name string, n int, named bool) {
	at := strings.LastIndexByte(string(l), '=')
	if at < 0 {
		return string(l), 0, false
	}
	n, err := strconv.Atoi(string(l)[at+1:])
	if err != nil {
		n = 0
	}
	return string(l)[:at], n, true
}

func (l Lane) check(p *Problems) {
	if name, n, named := l.cut(); l != "" && (!LaneName(name) || named && (n < 1 || n > MaxLane)) {
		p.add("usage/lane", string(l), MaxLane, MaxNameBytes)
	}
}

// LaneName reports whether s can be the name of a lane. Any name of a job can be.
func LaneName(s string) bool { return s != "" && len(s) <= MaxNameBytes && Printable(s) }
