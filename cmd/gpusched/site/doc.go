// Package site implements the commands about the installation: config, version, metrics, mcp and
// top. It also replaces this process with other programs of gpusched.
package site
