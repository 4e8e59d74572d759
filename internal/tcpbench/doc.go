// Package tcpbench measures what carries TCP connections, whatever it is: it has a
// destination, and dials a local port that leads there.
//
//	Destination <- what is measured <- local port <- Throughput, FirstByte
//
// A connection begins with a word that says what it is for and a number of bytes,
// so that no measurement depends on ends or half-closes. It knows nothing of what
// it measures.
package tcpbench
