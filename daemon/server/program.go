package server

import (
	"fmt"
	"path"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// checkProgram checks that a command is in one of the places that the site allows for programs. An
// empty list of places allows everything. The check compares only texts. It looks at no file,
// because root must not follow paths that a user chose. It therefore guards against mistakes, not
// against attackers: it cannot know what an allowed program runs, where a link leads, or what was
// copied into an allowed place.
func checkProgram(allowed []string, p job.Payload, a *job.Array) error {
	if len(allowed) == 0 || len(p.Argv) == 0 {
		return nil
	}
	name, fault := program(p.Argv, p.Dir)
	if a != nil && fault == "" {
		for _, param := range a.Params {
			if strings.Contains(name, "{"+param.Name+"}") {
				fault = fmt.Sprintf("the path of the program has the parameter {%s} in it", param.Name)
			}
		}
	}
	if p.Setup.Command != "" {
		fault = "a set-up is a command of its own (--setup)"
	}
	if !p.Container.IsZero() {
		fault = "an image has programs of its own (--image)"
	}
	if fault == "" && isWithin(allowed, name) {
		return nil
	}
	if fault == "" {
		fault = fmt.Sprintf("%q is in none of them", name)
	}
	return &api.Error{
		Code: api.CodePolicy, Message: "this site only runs programs and scripts in " + listed(allowed) + ": " + fault,
		Hint: "name a script or program there by its path; jobs.allowed_paths in gpusched.toml(5) is the site's list",
	}
}

// program returns the path to compare with the allowed places. If the command is a known
// interpreter with a script, this is the path of the script. Otherwise it is the path of the
// program.
func program(argv []string, dir string) (name, fault string) {
	first := argv[0]
	if job.IsWrapper(first) {
		if s := scriptFile(argv[1:]); s != "" {
			return absolute(s, dir), ""
		}
		if !strings.Contains(first, "/") {
			return "", fmt.Sprintf("%q is given no script file", first)
		}
	}
	if !strings.Contains(first, "/") {
		return "", fmt.Sprintf("%q is looked up in PATH", first)
	}
	return absolute(first, dir), ""
}

func absolute(name, dir string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// scriptFile returns the script among an interpreter's arguments. It returns "" if the code comes
// from an argument (-c) or from a module (-m).
func scriptFile(args []string) string {
	file := script(args)
	for _, arg := range args {
		if arg == file {
			return file
		}
		if len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg, "cm") {
			return ""
		}
	}
	return file
}

// isWithin reports whether a path is one of the places, or below one of them.
func isWithin(places []string, name string) bool {
	parts := strings.Split(name, "/")
	for _, place := range places {
		depth := strings.Count(place, "/") + 1
		if place == "/" {
			return true
		}
		if depth > len(parts) {
			continue
		}
		if ok, err := path.Match(place, strings.Join(parts[:depth], "/")); ok && err == nil {
			return true
		}
	}
	return false
}

// maxPlaces limits the number of places that a refusal lists.
const maxPlaces = 4

func listed(places []string) string {
	if len(places) > maxPlaces {
		return strings.Join(places[:maxPlaces], ", ") + ", …"
	}
	return strings.Join(places, ", ")
}
