// Package doctor implements the command doctor. It checks the installation as the user who runs it
// sees it. If asked, it runs a test job on each GPU. It also writes bug reports.
package doctor
