// Package site has the commands about the installation: config, version, metrics, mcp and top. It also becomes the
// programs that come with gpusched.
package site
