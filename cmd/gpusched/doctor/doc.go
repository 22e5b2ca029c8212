// Package doctor has the command doctor: it checks the installation from its user's side, with a job on each GPU if
// asked, and writes bug reports.
package doctor
