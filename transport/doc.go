// Package transport defines what carries AHP messages between two peers: whole
// UTF-8 texts, both ways, in order, reliably (AHP core, 1 "Transport").
//
// It is the first and the last stop on the path of a byte: a socket or a pipe
// on one side, package jsonrpc on the other. The carriers themselves are
//
//   - transport/websocket: one text frame a message, host as server;
//   - transport/stdio: one line a message, for a parent process;
//   - transport/memory: two ends in one process, for tests and embedding.
//
// What every carrier keeps:
//
//   - a message arrives whole, once, and after all messages written before it;
//   - only valid UTF-8 comes out of Read, and nothing above the size limit;
//   - memory follows the bytes really received, never an announced length;
//   - nothing a peer sends can cause a panic;
//   - the first cause that ends a connection is the one every later Read and
//     Write reports;
//   - a stalled peer cannot hold a writer for ever.
//
// It knows no JSON-RPC and no AHP word, does not queue on behalf of its user
// (the outbox of package host does), and decides nothing about who may connect.
package transport
