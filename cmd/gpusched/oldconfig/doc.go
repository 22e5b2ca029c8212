// Package oldconfig converts the settings of other schedulers into lines for
// /etc/gpusched/gpusched.toml, and reports what became of each. It owns what maps to what. It only
// reads and makes text.
package oldconfig
