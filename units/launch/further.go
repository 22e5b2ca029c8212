package launch

import (
	"strconv"

	"github.com/gpusched/gpusched/units/contract"
)

// field is one of the further fields of a spec of version 3, by its name. A list
// is several of one name.
type field struct{ name, value string }

// The further fields.
const (
	fieldModule  = "module"
	fieldConda   = "conda"
	fieldVenv    = "venv"
	fieldCommand = "setup"
	fieldCUDAArg = "cuda-arg" // its value is "1"

	fieldScreen   = "screen"
	fieldVariable = "variable"  // of Spec.Variables
	fieldLog      = "log"       // appended to
	fieldNewLog   = "empty log" // emptied first
	fieldTerminal = "terminal"  // its value is "1"
	fieldAimed    = "aimed"     // the number of a signal
)

// further lists the fields that only version 3 has, without those that say nothing.
func (s *Spec) further() []field {
	var list []field
	add := func(name string, values ...string) {
		for _, v := range values {
			if v != "" {
				list = append(list, field{name, v})
			}
		}
	}
	add(fieldModule, s.Setup.Modules...)
	add(fieldConda, s.Setup.Conda)
	add(fieldVenv, s.Setup.Venv)
	add(fieldCommand, s.Setup.Command)
	if s.Setup.CUDAArg {
		add(fieldCUDAArg, "1")
	}
	if s.TTY {
		add(fieldTerminal, "1")
	}
	add(fieldScreen, s.Screen)
	for _, signal := range s.Aimed {
		add(fieldAimed, strconv.Itoa(signal))
	}
	add(fieldVariable, s.Variables...)
	if s.Log.Truncate {
		add(fieldNewLog, s.Log.Path)
	} else {
		add(fieldLog, s.Log.Path)
	}
	return list
}

// take puts a field in its place and reports whether there is one.
func (s *Spec) take(f field) bool {
	switch f.name {
	case fieldModule:
		s.Setup.Modules = append(s.Setup.Modules, f.value)
	case fieldConda:
		s.Setup.Conda = f.value
	case fieldVenv:
		s.Setup.Venv = f.value
	case fieldCommand:
		s.Setup.Command = f.value
	case fieldCUDAArg:
		s.Setup.CUDAArg = true
		return f.value == "1"
	case fieldTerminal:
		s.TTY = true
		return f.value == "1"
	case fieldScreen:
		s.Screen = f.value
	case fieldAimed:
		signal, err := strconv.Atoi(f.value)
		s.Aimed = append(s.Aimed, signal)
		return err == nil && f.value == strconv.Itoa(signal)
	case fieldVariable:
		s.Variables = append(s.Variables, f.value)
	case fieldLog, fieldNewLog:
		s.Log = contract.Log{Path: f.value, Truncate: f.name == fieldNewLog}
	default:
		return false
	}
	return f.value != ""
}

func codeFurther(c coder, list *[]field) {
	elements(c, list, 2, "further field", func(f *field) {
		c.text(&f.name, "name of a further field")
		c.text(&f.value, "further field")
	})
}

// decodeFurther refuses a field of a later release: to leave out what a job asks
// for is not to start it.
func (s *Spec) decodeFurther(d *decoder) {
	var list []field
	codeFurther(d, &list)
	for _, f := range list {
		if d.bad == "" && !s.take(f) {
			d.bad = "further field"
		}
	}
	if len(list) == 0 && d.bad == "" { // that is what the versions before say
		d.bad = "list of further fields"
	}
}
