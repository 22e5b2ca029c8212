// Package manual has the texts and tables about commands and jobs. From these and a given grammar
// it makes the manual pages: gpusched(1), a page for each command, the tour gpusched(7), and
// gpusched-policy(7). It produces text only.
package manual
