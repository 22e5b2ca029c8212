package job

import (
	"path"
	"slices"
	"strings"
)

// wrappers are programs that run another program or a script: interpreters, launchers of parallel
// programs, and programs that prepare something for a command.
var wrappers = strings.Fields("python pypy bash sh dash zsh fish ksh perl ruby node julia R Rscript octave lua " +
	"torchrun accelerate deepspeed mpirun mpiexec srun env nice ionice nohup time timeout stdbuf numactl taskset " +
	"uv poetry pipenv conda mamba micromamba apptainer singularity")

// IsWrapper reports whether a program commonly runs another program or a script. It considers only
// the last element of the program's path, without a version number at its end.
func IsWrapper(program string) bool {
	return slices.Contains(wrappers, strings.TrimRight(path.Base(program), "0123456789."))
}

// scriptEndings are the usual file name extensions of scripts, in lower case.
var scriptEndings = []string{".py", ".sh", ".bash", ".zsh", ".pl", ".rb", ".r", ".jl", ".js", ".lua", ".m", ".ipynb"}

// IsScript reports whether an argument is not an option and has the file name extension of a
// script.
func IsScript(arg string) bool {
	return !strings.HasPrefix(arg, "-") && slices.Contains(scriptEndings, strings.ToLower(path.Ext(arg)))
}
