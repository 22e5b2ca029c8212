// A command lives for milliseconds. So the runtime need not watch for changes of CPU quotas, nor
// name its memory regions. (Go 1.26 still reads the mount table once for the quotas.)
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
//go:debug decoratemappings=0

package main

import (
	"os"

	"github.com/gpusched/gpusched/cmd/gpusched/client"
)

// version and commit are set by the linker (-X main.version, -X main.commit).
var (
	version = "dev"
	commit  = ""
)

func main() { os.Exit(client.Main(version, commit, nil)) }
