package contract

// HoldFlag has gpusched-job run a command in a terminal and hold that (package
// units/terminal/hold). The word after it has the limits that are the command's and not
// the holder's (LimitFlag), NoLimits where there are none; then comes the command.
const HoldFlag = "--hold"

// LimitFlag has gpusched-job become a command under limits under which it could not
// live itself. They are in the word after it, such as NPROC=100:200, those of several
// resources with a comma between them.
const (
	LimitFlag = "--limit"
	NoLimits  = "-"
)
