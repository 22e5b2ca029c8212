// Package contract has what the programs around a job's unit must agree on without linking each
// other: the unit's name, the program and the GPUs of an attempt, the launcher's options and
// reports, how a unit ended, resource limits, and the device nodes of the filter. It consists of
// constants, plain records and functions that use one record. It imports nothing, so that the
// launcher, the command line and the pure packages of the daemon can all import it.
package contract
