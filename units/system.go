package units

// System is what systemd says of itself.
type System struct {
	// Run names this run of PID 1 among those of one boot of the kernel. A soft
	// reboot and the restart of a container begin another one with no unit of the
	// last; systemd executed anew (daemon-reexec) goes on with the same.
	Run string
	// Stopping: a shutdown, reboot or soft reboot is under way, which stops all units.
	Stopping bool
}
