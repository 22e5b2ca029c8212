// Package site implements the commands about the installation: config, version, metrics, mcp and
// top. It also replaces this process by the other programs of the package.
package site
