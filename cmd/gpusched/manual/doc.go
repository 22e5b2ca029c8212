// Package manual makes gpusched(1) and a page for each command: from the grammar
// of the command line, which it is given, and from what people read about jobs, of
// which it has the tables. It only makes text.
package manual
