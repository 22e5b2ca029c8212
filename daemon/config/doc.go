// Package config reads the site's settings: TOML files, strict, merged in name
// order over the defaults, each value checked, each with the file and line it
// came from.
//
// What 'gpusched config' and the daemon use:
//
//	paths, err := config.Files(config.MainFile, config.DropInDir) // in the order they count
//	cfg, origins, err := config.Load(paths)         // the daemon: only files that root alone can change
//	cfg, origins, err := config.Read(paths, config.AnyOwner) // check a draft as anybody
//	config.Show(cfg, nil)      config show: the settings in force, as TOML that reads the same again
//	config.Show(cfg, origins)  config show --origin: and where each comes from
//	config.Sample()            config sample: every key, commented, with its default; the file the package installs
//	config.Schema()            config schema: JSON Schema of the file
//	config.Default()           what holds without any file
//
// The error of Load and Read is Problems: everything that is wrong in all
// files, one problem a line, each as file:line:column, what, why and what to
// write instead. A reload is Load again: with an error nothing of it is used.
//
// Most sections are there once. [class.CLASS], [quota.user.NAME] and
// [quota.group.NAME] stand for as many as the site names; Keys, Sections and the
// schema have them with the placeholder, Show with their names.
//
// The package never writes a file, never logs and never keeps state; it knows
// nothing of GPUs or systemd beyond the spelling of their settings.
//
// Invariants, cited by tests:
//
//  1. Load returns either a valid Config and no error, or an error and the
//     zero Config: all or nothing.
//  2. Every fault of every file is in the one error, each with its position.
//  3. Sample parses to Default, and Show of any valid Config parses to it.
//  4. The daemon reads regular files only, owned by root and changeable by
//     root alone; anything else is refused by name.
//  5. A later file wins, key by key; a key that is not in any file has its
//     default and no origin. What the section of a user's quota leaves out is
//     that of quota.default, whichever file sets it.
//  6. The keys table is the one list of settings: files, sample, schema, manual
//     page and Show are all made from it.
package config
