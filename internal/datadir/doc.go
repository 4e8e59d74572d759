// Package datadir is the state directory of one user's host: who runs on it,
// where that host can be reached, and which tokens open its door.
//
// It stands beside the path of a byte: the command line asks it where to listen
// and where to dial, and no message passes through it. The files are
//
//	host.lock    locked (flock) by the host as long as it lives; empty
//	host.json    pid, start, addresses and version of that host
//	token        the directory's own token
//	tokens.yaml  hashes of further tokens, each with the name it stands for
//	start.lock   held for moments by whoever starts a host
//
// Invariants:
//
//   - A host is alive while host.lock is locked, and only then. The process id
//     in host.json proves nothing by itself: ids are used again.
//   - host.json is there only while its writer accepts connections. It appears
//     whole or not at all and is the first thing to go at shutdown.
//   - Lock files are never removed, so two processes can never hold locks on
//     two files of the same name.
//   - Files are written 0600 and replaced by renaming; directories are made
//     0700. What others may read or change is refused, not repaired: a token
//     that was readable has to be taken as known.
//   - No error repeats a token.
//
// It starts no host and opens no connection.
package datadir
