// Package subuid reads subuid(5), the ranges of uids that users' containers run
// as. The daemon counts what those do as the user's own, and the doctor says what
// the daemon will not count: both by this one judgement.
package subuid
