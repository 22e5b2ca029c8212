package contract

// Setup is what runs in a job's unit, as its user, before the command: first the modules, then the
// conda environment, then the virtual environment, then the shell command. The zero value runs
// nothing.
type Setup struct {
	Modules []string `json:"modules,omitempty"` // of the site's environment modules, in order
	Conda   string   `json:"conda,omitempty"`   // prefix of a conda environment, absolute
	Venv    string   `json:"venv,omitempty"`    // directory of a virtual environment, absolute
	Command string   `json:"command,omitempty"` // for a shell, which afterwards becomes the job's command

	CUDAArg bool   `json:"cuda_arg,omitempty"` // the command gets --cuda with the job's GPUs
	Compat  string `json:"compat,omitempty"`   // other scheduler whose variables the job also has: "" or CompatSlurm
}

// CompatSlurm gives a job the variables that Slurm sets.
const CompatSlurm = "slurm"

// IsZero reports whether there is nothing to do.
func (s Setup) IsZero() bool {
	return len(s.Modules) == 0 && s.Conda == "" && s.Venv == "" && s.Command == "" && !s.CUDAArg && s.Compat == ""
}

// SetupShells lists the shells that can run a set-up. The preferred shell is bash, because users
// write set-ups for it and conda's packages come with scripts for it.
func SetupShells() []string { return []string{"/bin/bash", "/usr/bin/bash", "/bin/sh"} }

// ModuleInits lists files that may define the command "module" in a shell (bash or sh), the most
// likely file first. The argument home is MODULESHOME, or "".
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
