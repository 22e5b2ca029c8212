// Package manual has what people read about commands and jobs, as texts and tables,
// and makes gpusched(1), a page for each command, gpusched(7), the tour, and
// gpusched-policy(7) of these and of the grammar of the command line, which it is
// given. It only makes text.
package manual
