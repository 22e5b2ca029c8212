package contract

// The name of a job's unit is its id between these two: "gpujob-42.service".
const (
	UnitPrefix = "gpujob-"
	UnitSuffix = ".service"
)
