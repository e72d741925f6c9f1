package store

import (
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// A file system that fails. It is SQLite's own one for this system with three of
// its functions put behind a gate: reading, writing and flushing. While no fault
// is planned, or for other files, nothing is different.

// fault is one way in which the disk fails.
type fault struct {
	op    string // read, write, short or sync
	code  int32  // what SQLite is told
	file  string // end of the file's name, such as -wal; empty for all of the directory
	after int    // so many calls go well first
	once  bool   // only one fails; otherwise all of them until it is lifted
}

// failing is the state of the gate.
type failing struct {
	mu      sync.Mutex
	real    uintptr                              // SQLite's own file system
	methods map[uintptr]*lib.Tsqlite3_io_methods // of our copies: the originals
	copies  map[uintptr]uintptr                  // original table → our copy
	files   map[uintptr]string                   // open file → path
	dir     string                               // whose files fail
	plan    *fault
	calls   int
	hits    int
}

var gate = &failing{methods: map[uintptr]*lib.Tsqlite3_io_methods{}, copies: map[uintptr]uintptr{}, files: map[uintptr]string{}}

var registerOnce sync.Once

// failingDisk makes SQLite use the gate from now on.
func failingDisk(t *testing.T) *failing {
	t.Helper()
	registerOnce.Do(func() {
		tls := libc.NewTLS()
		gate.real = lib.Xsqlite3_vfs_find(tls, 0)
		ours := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
		v := (*lib.Tsqlite3_vfs)(pointer(ours))
		*v = *(*lib.Tsqlite3_vfs)(pointer(gate.real))
		v.FpNext = 0
		name, err := libc.CString("failing")
		if err != nil {
			panic(err)
		}
		v.FzName = name
		*(*func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32)(unsafe.Pointer(&v.FxOpen)) = gateOpen
		if rc := lib.Xsqlite3_vfs_register(tls, ours, 1); rc != lib.SQLITE_OK {
			panic(rc)
		}
	})
	return gate
}

// pointer is an address that C handed out as a Go pointer.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// set plans a fault for the files of a directory; nil lifts it. It returns how
// often the last one struck.
func (d *failing) set(dir string, f *fault) (hits int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hits = d.hits
	d.dir, d.plan, d.calls, d.hits = dir, f, 0, 0
	return hits
}

// strikes decides whether a call fails.
func (d *failing) strikes(file uintptr, ops ...string) (fault, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.plan
	if f == nil || !strings.HasPrefix(d.files[file], d.dir) || !strings.HasSuffix(d.files[file], f.file) {
		return fault{}, false
	}
	for _, op := range ops {
		if op != f.op {
			continue
		}
		d.calls++
		if d.calls <= f.after || f.once && d.hits > 0 {
			return fault{}, false
		}
		d.hits++
		return *f, true
	}
	return fault{}, false
}

// original is the table of functions of an open file.
func (d *failing) original(file uintptr) *lib.Tsqlite3_io_methods {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.methods[(*lib.Tsqlite3_file)(pointer(file)).FpMethods]
}

type (
	openFunc     = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	transferFunc = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	syncFunc     = func(*libc.TLS, uintptr, int32) int32
)

func gateOpen(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	d := gate
	open := (*lib.Tsqlite3_vfs)(pointer(d.real)).FxOpen
	rc := (*(*openFunc)(unsafe.Pointer(&struct{ uintptr }{open})))(tls, d.real, name, file, flags, out)
	f := (*lib.Tsqlite3_file)(pointer(file))
	if rc != lib.SQLITE_OK || f.FpMethods == 0 {
		return rc
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ours := d.copies[f.FpMethods]
	if ours == 0 {
		ours = libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
		m := (*lib.Tsqlite3_io_methods)(pointer(ours))
		*m = *(*lib.Tsqlite3_io_methods)(pointer(f.FpMethods))
		*(*transferFunc)(unsafe.Pointer(&m.FxRead)) = gateRead
		*(*transferFunc)(unsafe.Pointer(&m.FxWrite)) = gateWrite
		*(*syncFunc)(unsafe.Pointer(&m.FxSync)) = gateSync
		d.methods[ours] = (*lib.Tsqlite3_io_methods)(pointer(f.FpMethods))
		d.copies[f.FpMethods] = ours
	}
	f.FpMethods = ours
	d.files[file] = ""
	if name != 0 {
		d.files[file] = libc.GoString(name)
	}
	return rc
}

func gateRead(tls *libc.TLS, file, buf uintptr, n int32, at int64) int32 {
	if f, bad := gate.strikes(file, "read"); bad {
		return f.code
	}
	return (*(*transferFunc)(unsafe.Pointer(&struct{ uintptr }{gate.original(file).FxRead})))(tls, file, buf, n, at)
}

func gateWrite(tls *libc.TLS, file, buf uintptr, n int32, at int64) int32 {
	write := *(*transferFunc)(unsafe.Pointer(&struct{ uintptr }{gate.original(file).FxWrite}))
	f, bad := gate.strikes(file, "write", "short")
	if !bad {
		return write(tls, file, buf, n, at)
	}
	if f.op == "short" { // half of it reaches the disk
		write(tls, file, buf, n/2, at)
	}
	return f.code
}

func gateSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	if f, bad := gate.strikes(file, "sync"); bad {
		return f.code
	}
	return (*(*syncFunc)(unsafe.Pointer(&struct{ uintptr }{gate.original(file).FxSync})))(tls, file, flags)
}
