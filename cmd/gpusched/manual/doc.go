// Package manual has the texts and tables about commands and jobs. From these and a grammar it
// generates the manual pages: gpusched(1), one page for each command, the tour gpusched(7), and
// gpusched-policy(7). It produces only text.
package manual
