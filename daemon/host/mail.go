package host

import "os"

// Every mail system of Linux installs a program with this path.
const mailProgram = "/usr/sbin/sendmail"

// HasMail reports whether the machine has a mail program.
func HasMail() bool {
	st, err := os.Stat(mailProgram)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
