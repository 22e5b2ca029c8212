// Package alias translates the command lines of other job queues into command lines of gpusched. If
// scripts read the output of a tool, the package formats jobs as that tool does. It owns the list
// of tools and the meaning of their options on one machine. It only produces text; its caller runs
// the commands.
//
// Invariants:
//
//  1. An option that is not in the tool's table is refused. The tool's --help lists all options in
//     the table.
//  2. An option that gpusched can't carry out is refused or mentioned. It is never ignored
//     silently.
package alias
