// Package alias reads the command lines of other tools for queueing jobs, and says them
// as command lines of gpusched; and it prints jobs as those tools do, where scripts read
// that. It owns which names there are and which of their options mean something on one
// machine. It only makes text: who runs it is the caller.
//
// Invariants:
//
//  1. An option that the table of a tool does not have is refused; its --help has those
//     that there are.
//  2. What an option asks and gpusched does not do is refused or named, never dropped.
package alias
