package units

// System is what systemd says about itself.
type System struct {
	// Run identifies this run of PID 1 within a boot of the kernel. A soft reboot or the restart of
	// a container begins another run, which has no units of the last; systemd re-executed
	// (daemon-reexec) continues the same run.
	Run string
	// Stopping means that a shutdown, reboot or soft reboot is under way, which stops all units.
	Stopping bool
}
