package contract

// EnvMode selects which parts of the submitter's environment the job gets.
type EnvMode string

// The modes of --env.
const (
	EnvInherit EnvMode = "inherit" // the submitter's environment at the submission
	EnvClean   EnvMode = "clean"   // HOME, USER, LOGNAME, SHELL, PATH, LANG only
	EnvLogin   EnvMode = "login"   // clean, then through the user's login shell
)

// Program is what a job runs. Strings are bytes as the submitter sent them, not necessarily UTF-8.
type Program struct {
	Argv      []string  `json:"argv"` // at least the command; only execve interprets the arguments
	EnvMode   EnvMode   `json:"env_mode"`
	Env       []string  `json:"env"` // K=V, the last of a name counts; EnvInherit: all variables, other modes: additions
	Dir       string    `json:"dir"` // absolute
	Umask     int       `json:"umask"`
	Setup     Setup     `json:"setup,omitzero"`
	Container Container `json:"container,omitzero"`
	Log       Log       `json:"log,omitzero"`
	TTY       bool      `json:"tty,omitempty"` // the command runs in a terminal that the launcher keeps for it
}
