// Package secretdir keeps the secrets that routes refer to in a directory, one
// file an entry, readable by this user alone. It implements notify.Secrets.
//
// Secrets stand beside notify.db and not in it: a copy of the records, made to
// look for a fault, holds none. A file's name is a digest of principal and
// reference; its content is the secret. An entry is replaced in one step and
// synced, so that what refers to it may be committed afterwards. Several
// processes may use a directory: nothing is remembered between two calls.
package secretdir
