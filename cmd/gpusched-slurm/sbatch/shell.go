package sbatch

import (
	"embed"
	"strings"
)

// scripts has the parts of a job's script.
//
// login.sh runs the script again in the user's login shell. All shells must interpret the script's
// path in the same way.
//
// job.sh determines the job's id, and a port at which its processes can meet, as gpusched does on
// one machine. Four ports belong to the job. They are below the ports that the kernel assigns. The
// kernel's own table says which ports are in use.
//
// gpu.sh determines the job's GPUs. Because of the device filter, nvidia-smi shows only these.
//
// setup.sh and retry.sh are described beside setupText and runRetrying.
//
//go:embed sh
var scripts embed.FS

// shell returns a part of a job's script. The pairs are placeholders and what replaces them.
func shell(name string, pairs ...string) string {
	text, err := scripts.ReadFile("sh/" + name + ".sh")
	if err != nil {
		panic(err) // the files are in the program
	}
	return strings.NewReplacer(pairs...).Replace(string(text))
}
