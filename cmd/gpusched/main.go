// A command lives for milliseconds: the runtime need not follow changes of CPU quotas, or
// name its memory. (It reads the mount table for them once, whatever it is told: Go 1.26.)
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
//go:debug decoratemappings=0

package main

import (
	"os"

	"github.com/gpusched/gpusched/cmd/gpusched/client"
)

// Set when the program is linked, by -X main.version and -X main.commit.
var (
	version = "dev"
	commit  = ""
)

func main() { os.Exit(client.Main(version, commit, nil)) }
