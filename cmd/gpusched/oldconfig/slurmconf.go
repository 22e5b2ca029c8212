package oldconfig

import (
	"errors"
	"strings"
)

// convertSlurm converts slurm.conf. Its lines are NAME=VALUE; a line about a partition or node has
// several such pairs. Only one partition is read: the default one, or else the first.
func convertSlurm(text string) (Result, error) {
	all, order := map[string]any{}, []string{}
	put := func(name, value string) {
		if _, known := all[name]; !known {
			order = append(order, name)
		}
		all[name] = value
	}
	partition := ""
	var left []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		first, name, ok := strings.Cut(words[0], "=")
		if !ok {
			return Result{}, errors.New("a line of slurm.conf is NAME=VALUE")
		}
		prefix := map[string]string{"partitionname": "partition.", "nodename": "node."}[strings.ToLower(first)]
		if prefix == "partition." {
			isDefault := strings.Contains(strings.ToLower(line), "default=yes")
			if name != "DEFAULT" && partition != "" && !isDefault {
				left = append(left, name)
				continue
			}
			partition = name
		}
		for i, word := range words {
			key, value, _ := strings.Cut(word, "=")
			if i > 0 || prefix == "" {
				put(prefix+strings.ToLower(key), value)
			}
		}
	}
	if len(order) == 0 {
		return Result{}, errors.New("there is no setting in it")
	}
	w := &writer{result: Result{Kind: "Slurm"}}
	for _, r := range slurmRules {
		if v, ok := all[r.old]; ok {
			w.apply(r, v)
			delete(all, r.old)
		}
	}
	if len(left) > 0 {
		w.report("partitions %s: there are none here; quotas, reservations and classes (gpusched.toml(5)) divide a machine", strings.Join(left, ", "))
	}
	var unknown []string
	for _, name := range order {
		if _, is := all[name]; is {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		w.report("ignored here: %s", strings.Join(unknown, ", "))
	}
	return w.done(), nil
}
