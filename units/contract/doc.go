// Package contract holds what the programs around a job's unit agree on without
// linking each other: the unit's name, what the launcher reports and how it is
// called, how a resource limit is written, and the device nodes that the filter
// is about. It is constants, one plain record and what follows from one of them;
// it imports nothing, so that the launcher, the command line and the pure packages
// of the daemon can all have it.
package contract
