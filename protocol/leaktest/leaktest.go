// Package leaktest runs a package's tests and fails them when they leave a
// goroutine or a file descriptor behind. Packages that start or open either use
// it as their TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
package leaktest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// How long what the tests began may take to end after the last of them: the other
// side of a connection is closed by a goroutine of its own, and a process that
// outlives whoever started it, as a job's supervisor does on purpose, is waited for.
const (
	looks    = 20  // of goleak, each of which looks again for a second or so
	patience = 100 // times 20 ms, for descriptors
)

// Run runs the tests, m is a *testing.M or what runs one and then clears up behind
// it, and returns the exit code of the process.
func Run(m interface{ Run() int }, ignore ...goleak.Option) int {
	before := descriptors()
	code := m.Run()
	if code != 0 {
		return code
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	err := goleak.Find(ignore...)
	for range looks {
		if err == nil {
			break
		}
		err = goleak.Find(ignore...)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "leaktest: goroutines are left: %v\n", err)
		return 1
	}
	var left []string
	for range patience {
		if left = beyond(descriptors(), before); len(left) == 0 {
			return 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "leaktest: descriptors are left:\n\t%s\n", strings.Join(left, "\n\t"))
	return 1
}

// descriptors are the open descriptors with what they refer to, where the system
// can tell; none elsewhere.
func descriptors() map[string]string {
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil
	}
	open := map[string]string{}
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && !runtimes(to) {
			open[name] = to
		}
	}
	return open
}

// runtimes reports what the Go runtime and the test tool open once and keep, and
// the directory of descriptors itself.
func runtimes(to string) bool {
	for _, profile := range []string{"test.cpuprofile", "test.trace"} { // written until the end
		if f := flag.Lookup(profile); f != nil && f.Value.String() != "" && filepath.Base(to) == filepath.Base(f.Value.String()) {
			return true
		}
	}
	return to == "anon_inode:[eventpoll]" || to == "anon_inode:[eventfd]" || to == "/dev/null" || to == "/dev/urandom" ||
		strings.HasPrefix(to, "/proc/") || strings.HasPrefix(to, "/sys/")
}

// beyond lists what is open now and was not before.
func beyond(now, before map[string]string) (left []string) {
	for name, to := range now {
		if before[name] != to {
			left = append(left, name+" → "+to)
		}
	}
	slices.Sort(left)
	return left
}
