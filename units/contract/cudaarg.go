package contract

// WithCUDA returns the command with the job's GPUs as the value of --cuda, if the set-up asks for
// that. It replaces the value of each --cuda in the command, or appends the option if there is
// none. It does not look inside arguments, such as a line for a shell.
func (s Setup) WithCUDA(argv []string, gpus string) []string {
	if !s.CUDAArg {
		return argv
	}
	const flag = "--cuda"
	out := make([]string, 0, len(argv)+2)
	found := false
	for i := 0; i < len(argv); i++ {
		switch arg := argv[i]; {
		case i > 0 && arg == flag:
			out, found = append(out, flag, gpus), true
			if i+1 < len(argv) && isValue(argv[i+1]) {
				i++
			}
		case i > 0 && len(arg) > len(flag) && arg[:len(flag)+1] == flag+"=":
			out, found = append(out, flag+"="+gpus), true
		default:
			out = append(out, arg)
		}
	}
	if !found {
		out = append(out, flag, gpus)
	}
	return out
}

// isValue reports whether arg is the value of an option rather than the next option; -1 is a value.
func isValue(arg string) bool {
	if arg == "" || arg[0] != '-' {
		return true
	}
	for _, c := range []byte(arg[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(arg) > 1
}
