// Package installation checks an installation as its user sees it: what the scheduler reports about
// itself, the host, and GPUs that are used outside of jobs. It changes nothing and runs no program.
// What the user may not read is UNKNOWN.
package installation
