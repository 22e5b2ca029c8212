package job

import (
	"fmt"
	"strconv"
	"strings"
)

// Class is the coarse part of a job's priority. A job of a higher class goes first, whatever the
// numbers within the classes.
type Class int

// The classes, lowest first.
const (
	Scavenger Class = iota - 2
	Low
	Normal
	High
	Interactive
)

var classNames = map[Class]string{
	Scavenger: "scavenger", Low: "low", Normal: "normal", High: "high", Interactive: "interactive",
}

// Classes returns all classes, lowest first.
func Classes() []Class { return []Class{Scavenger, Low, Normal, High, Interactive} }

// String returns the class as people type it.
func (c Class) String() string { return classNames[c] }

// MarshalText returns what String prints.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the form of MarshalText.
func (c *Class) UnmarshalText(text []byte) error {
	for _, is := range Classes() {
		if string(text) == is.String() {
			*c = is
			return nil
		}
	}
	return fmt.Errorf("%q is not a class", text)
}

// Priority decides a job's place in the queue: first by class, then by number. The higher goes
// first.
type Priority struct {
	Class  Class
	Number int
}

// maxPriority is the largest number, and -maxPriority the smallest.
const maxPriority = 1_000_000

// ParsePriority reads a number (in class normal) or the name of a class. It refuses a plus sign,
// which would look like an increase of the current priority.
func ParsePriority(s string) (Priority, error) {
	var p Priority
	if p.Class.UnmarshalText([]byte(s)) == nil {
		return p, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < -maxPriority || n > maxPriority || s[0] == '+' {
		return Priority{}, fmt.Errorf("%q is not a priority: use a number (higher goes first) or one of scavenger, low, normal, high, interactive", s)
	}
	return Priority{Number: n}, nil
}

// String prints the priority as ParsePriority reads it: in class normal as the number, otherwise as
// the class's name.
func (p Priority) String() string {
	if p.Class == Normal && p.Number != 0 {
		return strconv.Itoa(p.Number)
	}
	return p.Class.String()
}

// MarshalText returns what String prints. If a class other than normal has a number other than 0,
// the number follows after a colon.
func (p Priority) MarshalText() ([]byte, error) {
	if p.Class != Normal && p.Number != 0 {
		return fmt.Appendf(nil, "%s:%d", p.Class, p.Number), nil
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads the form of MarshalText; an empty text is class normal.
func (p *Priority) UnmarshalText(text []byte) (err error) {
	class, number, both := strings.Cut(string(text), ":")
	if class == "" && !both {
		*p = Priority{}
		return nil
	}
	if *p, err = ParsePriority(class); err == nil && both {
		p.Number, err = strconv.Atoi(number)
	}
	return err
}

// Raised reports whether p is above class normal and number 0, which is the highest that users may
// choose themselves.
func (p Priority) Raised() bool { return p.Class > Normal || p.Number > 0 }
