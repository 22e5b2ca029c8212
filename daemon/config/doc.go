// Package config reads the site's settings: strict TOML files, which are merged over the defaults
// in the order of their names. It checks each value, and remembers the file and line that each
// value came from.
//
// 'gpusched config' and the daemon use:
//
//	paths, err := config.Files(config.MainFile, config.DropInDir) // in the order in which they apply
//	cfg, origins, err := config.Load(paths)         // the daemon: only files that root alone can change
//	cfg, origins, err := config.Read(paths, config.AnyOwner) // check a draft as any user
//	config.Show(cfg, nil)      config show: the settings in force, as TOML that reads the same again
//	config.Show(cfg, origins)  config show --origin: and where each comes from
//	config.Sample()            config sample: every key, commented out, with its default; the package installs it
//	config.Schema()            config schema: JSON Schema of the file
//	config.Default()           the settings without any file
//
// The error of Load and Read is of type Problems. It lists everything that is wrong in all files,
// one problem a line: file:line:column, what is wrong, why, and what to write instead. A reload
// calls Load again. If Load fails, none of the new settings apply.
//
// Most sections exist once. [class.CLASS], [quota.user.NAME] and [quota.group.NAME] exist once for
// each name that the site writes. Keys, Sections and the schema have these sections with the
// placeholder; Show has them with the site's names.
//
// The package never writes a file, never logs and keeps no state. It knows the notation of settings
// about GPUs and systemd, and nothing else about GPUs and systemd.
//
// Invariants, cited by tests:
//
//  1. Load returns either a valid Config and no error, or an error and the zero Config.
//  2. The error has every fault of every file, each with its position.
//  3. Parsing Sample gives Default. Parsing Show of any valid Config gives that Config.
//  4. The daemon reads only regular files that are owned by root and that root alone can change.
//     Any other file is refused with an error that names it.
//  5. For each key, the last file that sets it wins. A key that no file sets has its default and no
//     origin. If a user's quota section leaves out a key, the value is that of quota.default,
//     whichever file sets it.
//  6. The keys table is the only list of settings: files, sample, schema, manual page and Show are
//     all made from it.
package config
