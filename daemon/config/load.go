package config

// Origin is where a value was written.
type Origin struct {
	File   string
	Line   int // from 1
	Column int // from 1
}

// Origins holds the origin of each key that a file sets, by its full name such
// as "jobs.default_mem". A key that is not in it has its default.
type Origins map[string]Origin
