// Package doctor implements the command doctor. It checks the installation with the rights of the
// user who runs the command. If asked, it runs a test job on each GPU. It also writes bug reports.
package doctor
