// Package alias translates the command lines of other job queues into command lines of gpusched,
// and formats jobs as those tools do where scripts read that. It owns the list of tools and the
// meaning of their options on one machine. It only produces text: its caller runs it.
//
// Invariants:
//
//  1. An option that a tool's table lacks is refused. The tool's --help lists all others.
//  2. An option that gpusched can't carry out is refused or mentioned, never dropped silently.
package alias
