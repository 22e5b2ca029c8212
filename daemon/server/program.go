package server

import (
	"fmt"
	"path"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// checkProgram checks a command against the site's list of places for programs; an empty list
// allows everything. It compares words and looks at no file, because root follows no path that a
// user named. So it guards against mistakes, not against attackers: it does not see what an allowed
// program runs, where a link leads, or what was copied into an allowed place.
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
	if fault == "" && within(allowed, name) {
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

// program returns the path that decides about a command: the script's if a program that commonly
// runs scripts is given one, otherwise the program's.
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

// scriptFile returns the script among the arguments; "" if the code comes from an argument (-c) or
// a module's name (-m).
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

// within reports whether a path is one of the places or below one.
func within(places []string, name string) bool {
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

// maxPlaces is the number of places that a refusal names at most.
const maxPlaces = 4

func listed(places []string) string {
	if len(places) > maxPlaces {
		return strings.Join(places[:maxPlaces], ", ") + ", …"
	}
	return strings.Join(places, ", ")
}
