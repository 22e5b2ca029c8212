package config

// Load reads the files in order over the defaults. It accepts only files that root alone can
// change, as the daemon does. The error is of type Problems; the Config is then zero and the
// Origins are nil. An empty list of files is not an error.
func Load(paths []string) (Config, Origins, error) { return Read(paths, RootOnly) }

// Read is like Load, but the given function checks the owners of the files.
func Read(paths []string, owner OwnerCheck) (Config, Origins, error) {
	m := newMerge()
	for _, path := range paths {
		data, err := readFile(path, owner)
		if err != nil {
			m.problems.addf(Origin{File: path}, "", "cannot be read: %v", err)
			continue
		}
		m.file(path, data)
	}
	return m.result()
}

// Parse reads one file from memory. Positions use the given name.
func Parse(name string, data []byte) (Config, Origins, error) {
	m := newMerge()
	m.file(name, data)
	return m.result()
}

// merge is the state of one Read.
type merge struct {
	cfg      Config
	origins  Origins
	problems Problems
	bad      map[string]bool // keys that have a problem; rules about them are not checked
	said     map[string]bool // wrong sections that have been reported
}

func newMerge() merge {
	return merge{cfg: Default(), origins: Origins{}, bad: map[string]bool{}, said: map[string]bool{}}
}

// file applies one file, key by key.
func (m *merge) file(name string, data []byte) {
	doc := parseDocument(name, data, &m.problems)
	for _, e := range doc {
		k, ok := m.resolve(e)
		if !ok {
			continue
		}
		full := k.full()
		if err := k.bind(&m.cfg).parse(e.value); err != nil {
			m.bad[full] = true
			m.problems.addf(e.at, full, "%s: %v", full, err)
			continue
		}
		delete(m.bad, full)
		m.origins[full] = e.at
	}
}

// result fills in values that follow from other values, and checks the rules between keys.
func (m *merge) result() (Config, Origins, error) {
	inherit(&m.cfg.Quotas, m.origins, m.cfg.Jobs.MaxRunning)
	m.checkRules()
	if err := m.problems.err(); err != nil {
		return Config{}, nil, err
	}
	return m.cfg, m.origins, nil
}

// checkRules checks the rules between keys.
func (m *merge) checkRules() {
	for _, r := range rules(&m.cfg) {
		if m.bad[r.key] || m.bad[r.other] {
			continue
		}
		text := r.check(&m.cfg)
		if text == "" {
			continue
		}
		at, ok := m.origins[r.key]
		if !ok {
			at = m.origins[r.other]
		}
		m.problems.addf(at, r.key, "%s", text)
	}
}
