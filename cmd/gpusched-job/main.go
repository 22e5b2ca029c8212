// This process runs for a millisecond before it executes the job's
// command. It does not need the runtime to follow CPU quotas or to name
// its memory. (Go 1.26 still reads the mount table once for the quotas.)
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
//go:debug decoratemappings=0

package main

import (
	"os"
	"slices"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
	"github.com/gpusched/gpusched/units/terminal/hold"
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
	if len(os.Args) > 2 && os.Args[1] == contract.InitFlag {
		os.Exit(hold.Init(os.Args[2:], os.Environ()))
	}
	if len(os.Args) > 3 && os.Args[1] == contract.EngineFlag {
		os.Exit(hold.Engine(os.Args[3:], os.Environ(), os.Args[2]))
	}
	aimed, inside := "", hold.Entrance(nil)
	if len(os.Args) > 3 && os.Args[1] == contract.AimedFlag {
		aimed = os.Args[2]
		os.Args = slices.Delete(os.Args, 1, 3)
	}
	if len(os.Args) > 3 && os.Args[1] == contract.InsideFlag {
		inside = launch.Inside(os.Args[2], os.Environ())
		os.Args = slices.Delete(os.Args, 1, 3)
	}
	if len(os.Args) > 3 {
		argv, before := os.Args[3:], []string(nil)
		switch os.Args[1] {
		case contract.HoldFlag, contract.ScreenFlag:
			if os.Args[2] != contract.NoLimits {
				before = []string{os.Args[0], contract.LimitFlag, os.Args[2]}
			}
			session := ""
			if os.Args[1] == contract.ScreenFlag {
				session, argv = argv[0], argv[1:]
			}
			os.Exit(hold.Main(argv, before, os.Environ(), session, aimed, inside))
		case contract.DoorFlag:
			os.Exit(hold.Door(os.Args[0], os.Environ(), launch.LimitsOf, launch.Inside(os.Args[3], os.Environ())))
		case contract.LimitFlag:
			os.Exit(launch.Limited(os.Args[2], argv, os.Environ()))
		}
	}
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case contract.ScreenShowFlag:
			os.Exit(hold.Show(os.Args[2], os.Getenv("TERM")))
		case contract.TellFlag:
			if id, wanted := launch.WantsDoor(os.Args[2]); wanted && launch.HasTerminal(os.Args[2]) {
				os.Exit(0) // the process that holds the terminal already listens, or will soon
			} else if wanted {
				os.Exit(hold.OpenDoor(os.Args[0], id, os.Args[2], launch.DoorEnviron(os.Args[2], os.Environ())))
			}
		}
	}
	os.Exit(launch.Main(os.Args, os.Environ()))
}
