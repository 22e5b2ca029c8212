package main

import (
	"os"

	"github.com/gpusched/gpusched/units/launch"
)

// Set by the linker.
var (
	version = "devel"
	commit  = ""
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		os.Stdout.WriteString("gpusched-job " + version + " " + commit + "\n")
		return
	}
	os.Exit(launch.Main(os.Args, os.Environ()))
}
