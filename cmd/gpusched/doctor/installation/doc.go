// Package installation checks an installation as the user who runs it sees it: what the scheduler
// reports about itself, the host, and GPUs that are used outside of jobs. It changes nothing and
// runs no program. A check is UNKNOWN if the user may not read what it needs.
package installation
