// Package oldconfig converts the settings of other schedulers into lines for
// /etc/gpusched/gpusched.toml. It reports what each setting became. The package owns the rules for
// the conversion, and only reads and produces text.
package oldconfig
