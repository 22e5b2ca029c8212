package contract

// EnvMode is how the environment of the submitter reaches the job.
type EnvMode string

// The modes of --env.
const (
	EnvInherit EnvMode = "inherit" // the submitter's environment as it was at submit
	EnvClean   EnvMode = "clean"   // HOME, USER, LOGNAME, SHELL, PATH, LANG only
	EnvLogin   EnvMode = "login"   // clean, then through the user's login shell
)

// Program is what a job runs. Strings are bytes as the submitter sent them, not
// necessarily UTF-8.
type Program struct {
	Argv    []string `json:"argv"` // at least the command; not looked at by anybody but execve
	EnvMode EnvMode  `json:"env_mode"`
	Env     []string `json:"env"` // K=V, the last of several for one name wins; the whole environment for inherit, additions otherwise
	Dir     string   `json:"dir"` // absolute
	Umask   int      `json:"umask"`
	Setup   Setup    `json:"setup,omitzero"`
	Log     Log      `json:"log,omitzero"`
	TTY     bool     `json:"tty,omitempty"` // it runs in a terminal, which the launcher holds
}
