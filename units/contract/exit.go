package contract

// Exit describes the end of a unit's main process.
type Exit struct {
	Code    int // exit status; 0 if Signal is set
	Signal  int
	OOM     bool   // the kernel killed the process for lack of memory
	Engine  bool   // Docker ended its container, because Docker itself was stopped or restarted
	Server  bool   // MPS, which the process used, had ended before
	Stopped bool   // the process ended while its unit was being stopped, whoever ordered the stop
	Launch  Step   // "": the command began
	Errno   int    // of the launch failure; 0: unknown
	Detail  string // for people: the step of systemd that failed
}
