package shell

// Bounds of a command's output, in bytes.
const (
	MaxOutputBytes = 16 << 20 // read in total; then the command is ended
	KeptBytes      = 64 << 10 // kept of a finished call, from its end
	liveBytes      = 16 << 10 // shown of a running call, from its end
)
