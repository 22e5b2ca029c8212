// Package installation checks an installation from where its user stands: what the
// scheduler says of itself, the host as this user sees it, and GPUs that are kept
// from jobs. It changes nothing and runs no program; what the user may not read is
// UNKNOWN.
package installation
