package host

import "os"

// mailProgram is the path at which every mail system on Linux installs its program.
const mailProgram = "/usr/sbin/sendmail"

// HasMail reports whether the machine has a mail program.
func HasMail() bool {
	st, err := os.Stat(mailProgram)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
