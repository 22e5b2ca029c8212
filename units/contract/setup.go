package contract

// Setup is what is done in a job's unit, as its user, before its command: first
// the modules, then the conda environment, then the virtual one, then the shell
// command. Zero is nothing.
type Setup struct {
	Modules []string `json:"modules,omitempty"` // of the site's environment modules, in order
	Conda   string   `json:"conda,omitempty"`   // prefix of a conda environment, absolute
	Venv    string   `json:"venv,omitempty"`    // directory of a virtual environment, absolute
	Command string   `json:"command,omitempty"` // for a shell, which goes on to become the job's command

	CUDAArg bool   `json:"cuda_arg,omitempty"` // the command gets --cuda with the job's GPUs
	Compat  string `json:"compat,omitempty"`   // whose variables the job has as well: "" or CompatSlurm
}

// CompatSlurm is for programs that read what Slurm says of a job.
const CompatSlurm = "slurm"

// IsZero reports whether nothing is to be done.
func (s Setup) IsZero() bool {
	return len(s.Modules) == 0 && s.Conda == "" && s.Venv == "" && s.Command == "" && !s.CUDAArg && s.Compat == ""
}

// SetupShells are the shells that can do it, the better one first: what people
// write for one's own shell, and what conda's packages bring, is bash.
func SetupShells() []string { return []string{"/bin/bash", "/usr/bin/bash", "/bin/sh"} }

// ModuleInits are the files that may define the command "module" in a shell (bash
// or sh), the likeliest first; home is MODULESHOME, or "".
func ModuleInits(home, shell string) []string {
	files := []string{
		"/etc/profile.d/modules.sh", "/etc/profile.d/z00_lmod.sh", "/etc/profile.d/lmod.sh",
		"/usr/share/modules/init/" + shell, "/usr/share/Modules/init/" + shell, "/usr/share/lmod/lmod/init/" + shell,
	}
	if home == "" {
		return files
	}
	return append([]string{home + "/init/" + shell}, files...)
}
