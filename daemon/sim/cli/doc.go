// Package cli is the command "gpuschedd sim": it reads a trace, has package sim
// replay it under each policy and seed, and prints what came of it as a table, as
// JSON or as an HTML page that needs nothing else. It computes no figure of its own.
package cli
