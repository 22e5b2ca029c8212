// Package oldconfig turns the settings of other schedulers into lines for
// /etc/gpusched/gpusched.toml, and says of each setting what became of it. It owns
// what maps to what. It only reads and makes text.
package oldconfig
