package main

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/config"
)

//go:embed gpusched.toml.5.tmpl
var settingsPage string

// settingsManual generates gpusched.toml(5) from the keys of daemon/config.
func settingsManual(o options) (string, error) {
	page, err := template.New("gpusched.toml.5").Funcs(template.FuncMap{
		"roff": manual.Roff, "quoted": manual.Quoted, "sentence": upperFirst, "sections": config.Sections,
		"keys": func(section string) []config.Key {
			return slices.DeleteFunc(config.Keys(), func(k config.Key) bool { return k.Section != section })
		},
	}).Parse(settingsPage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]string{
		"Date": o.date.Format(time.DateOnly), "Version": o.version, "MainFile": config.MainFile, "DropInDir": config.DropInDir,
	})
	return b.String(), err
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
