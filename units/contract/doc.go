// Package contract holds what the programs around a job's unit agree on without
// linking each other: the unit's name, the program and the GPUs of an attempt, what
// the launcher reports and how it is called, how the unit ended, how a resource
// limit is written, and the device nodes that the filter is about. It is constants,
// plain records and what follows from one of them; it imports nothing, so that the
// launcher, the command line and the pure packages of the daemon can all have it.
package contract
