package config

// Change is a key whose values in two Configs differ. Before or Now is "" if that Config does not
// have the key.
type Change struct{ Key, Before, Now string }

// This text appears in place of a secret value.
const hidden = "(not shown)"

// Changes returns the keys whose values differ, in the order of the file. Keys that are missing in
// the new Config come last.
func Changes(before, now Config) (list []Change) {
	was, order := spelled(before)
	is, names := spelled(now)
	for _, name := range names {
		if was[name] != is[name] {
			list = append(list, Change{name, was[name].shown(), is[name].shown()})
		}
	}
	for _, name := range order {
		if _, there := is[name]; !there {
			list = append(list, Change{name, was[name].shown(), ""})
		}
	}
	return list
}

// spelling is a key's value as it is written in a file.
type spelling struct {
	text   string
	secret bool
}

func (s spelling) shown() string {
	if s.secret && s.text != "" {
		return hidden
	}
	return s.text
}

func spelled(c Config) (values map[string]spelling, order []string) {
	values = map[string]spelling{}
	for _, k := range keysIn(&c) {
		values[k.full()] = spelling{k.bind(&c).spell(), k.secret}
		order = append(order, k.full())
	}
	return values, order
}
