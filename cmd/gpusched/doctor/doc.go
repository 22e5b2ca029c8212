// Package doctor implements the command doctor. It checks what the user who runs the command can
// see of the installation. If asked, it runs a test job on each GPU. It also writes bug reports.
package doctor
