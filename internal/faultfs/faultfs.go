// Package faultfs is a file system for SQLite whose reads, writes, truncations
// and syncs fail as a test tells them to. It lies between SQLite and the
// operating system's files, so what fails is the real thing: whatever SQLite
// makes of it is what a user would get. It serves tests only.
package faultfs

import (
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Name is the file system's name for SQLite.
const Name = "faultfs"

// Op is what is about to be done to a file.
type Op string

// The operations that can fail.
const (
	Open     Op = "open"
	Read     Op = "read"
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
)

// Fault is how an operation fails.
type Fault int32

// Faults.
const (
	None     Fault = sqlite3.SQLITE_OK
	Full     Fault = sqlite3.SQLITE_FULL // no space left on the device
	IOError  Fault = sqlite3.SQLITE_IOERR
	ReadOnly Fault = sqlite3.SQLITE_READONLY
)

// Decide is asked about every operation, with the file's path. It may be called
// concurrently.
type Decide func(op Op, path string) Fault

var (
	register sync.Once
	decide   atomic.Pointer[Decide]

	base    uintptr // the operating system's file system
	own     uintptr // this one
	methods sync.Map
	paths   sync.Map // of open files
)

// Use makes d decide from now on, for every file that is opened with this file
// system; nil lets everything through.
func Use(d Decide) {
	register.Do(install)
	decide.Store(&d)
}

// Everywhere is Use, also for files that are opened from now on without naming a file
// system: those of a whole program.
func Everywhere(d Decide) {
	Use(d)
	if rc := sqlite3.Xsqlite3_vfs_register(libc.NewTLS(), own, 1); rc != 0 {
		panic("faultfs: cannot be registered")
	}
}

func ask(op Op, path string) int32 {
	if d := decide.Load(); d != nil && *d != nil {
		return int32((*d)(op, path))
	}
	return 0
}

// at is the value in SQLite's memory at an address.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// code is a function as SQLite calls it, and function what it calls as one.
func code[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func install() {
	tls := libc.NewTLS()
	base = sqlite3.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString(Name)
	if err != nil {
		panic(err)
	}
	own = libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	*at[sqlite3.Tsqlite3_vfs](own) = *at[sqlite3.Tsqlite3_vfs](base)
	v := at[sqlite3.Tsqlite3_vfs](own)
	v.FzName, v.FpNext, v.FxOpen = name, 0, code(open)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, own, 0); rc != 0 {
		panic("faultfs: cannot be registered")
	}
}

func open(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	path := ""
	if name != 0 {
		path = strings.Clone(libc.GoString(name))
	}
	if rc := ask(Open, path); rc != 0 {
		*at[uintptr](file) = 0 // no methods: there is nothing to close
		return sqlite3.SQLITE_CANTOPEN
	}
	real := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[sqlite3.Tsqlite3_vfs](base).FxOpen)
	rc := real(tls, base, name, file, flags, out)
	if rc == 0 {
		paths.Store(file, path)
		*at[uintptr](file) = wrap(tls, *at[uintptr](file))
	}
	return rc
}

// wrap returns the methods that ask first.
func wrap(tls *libc.TLS, real uintptr) uintptr {
	if t, ok := methods.Load(real); ok {
		return t.(uintptr)
	}
	own := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	*at[sqlite3.Tsqlite3_io_methods](own) = *at[sqlite3.Tsqlite3_io_methods](real)
	m := at[sqlite3.Tsqlite3_io_methods](own)
	m.FxRead, m.FxWrite, m.FxTruncate, m.FxSync = code(read), code(write), code(truncate), code(syncFile)
	methods.Store(real, own)
	behind.Store(own, real)
	return own
}

var behind sync.Map // real methods by ours

// methodsOf returns the real methods of a file, and its path.
func methodsOf(file uintptr) (*sqlite3.Tsqlite3_io_methods, string) {
	real, _ := behind.Load(*at[uintptr](file))
	path, _ := paths.Load(file)
	text, _ := path.(string)
	return at[sqlite3.Tsqlite3_io_methods](real.(uintptr)), text
}

func read(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	m, path := methodsOf(file)
	if rc := ask(Read, path); rc != 0 {
		return sqlite3.SQLITE_IOERR_READ
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxRead)(tls, file, buf, n, offset)
}

func write(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	m, path := methodsOf(file)
	if rc := ask(Write, path); rc != 0 {
		return rc
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxWrite)(tls, file, buf, n, offset)
}

func truncate(tls *libc.TLS, file uintptr, size int64) int32 {
	m, path := methodsOf(file)
	if rc := ask(Truncate, path); rc != 0 {
		return sqlite3.SQLITE_IOERR_TRUNCATE
	}
	return function[func(*libc.TLS, uintptr, int64) int32](m.FxTruncate)(tls, file, size)
}

func syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	m, path := methodsOf(file)
	if rc := ask(Sync, path); rc != 0 {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	return function[func(*libc.TLS, uintptr, int32) int32](m.FxSync)(tls, file, flags)
}
