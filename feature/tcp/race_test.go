//go:build race

package tcp

// raceDetector says that pools lose what they hold at random, by design.
const raceDetector = true
