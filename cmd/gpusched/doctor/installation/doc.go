// Package installation checks an installation with the rights of the user who runs doctor: what the
// scheduler reports about itself, the host, and GPUs that are used outside of jobs. It changes
// nothing and runs no program. The result of a check is UNKNOWN if the user may not read what the
// check needs.
package installation
