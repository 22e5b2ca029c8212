package units

// System is what systemd says about itself.
type System struct {
	// Run identifies this run of systemd (PID 1) within a boot of the kernel. A soft reboot or the
	// restart of a container begins another run, which has no units of the last run. If systemd is
	// re-executed (daemon-reexec), the run continues.
	Run string
	// Stopping means that a shutdown, reboot or soft reboot is under way, which stops all units.
	Stopping bool
}
