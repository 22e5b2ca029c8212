// Package doctor has the command doctor. It checks the installation as its user sees it, runs a
// test job on each GPU if asked to, and writes bug reports.
package doctor
