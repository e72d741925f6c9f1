package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// adoptOrphans makes this process the parent of every descendant whose own parent
// ends, so that none can leave by ending up with init (prctl(2),
// PR_SET_CHILD_SUBREAPER).
func adoptOrphans() error {
	const setChildSubreaper = 36
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// children lists the processes whose parent this one is, except for one.
func children(except int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := strconv.Itoa(os.Getpid())
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == except {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// As in birth: the state is the first field after the name, the parent the next.
		if fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(fields) > 1 && fields[1] == self {
			found = append(found, pid)
		}
	}
	return found
}

// buryOrphans takes note of the end of adopted processes, of which the kernel
// keeps an entry until then.
func buryOrphans(except int) {
	for _, pid := range children(except) {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

// How often killOrphans looks for further processes, and how long it waits in
// between. One that a driver holds in the kernel does not end, so it gives up.
const (
	orphanRounds = 500
	orphanPause  = 10 * time.Millisecond
)

// killOrphans kills every adopted process, and whatever comes to this one as they
// end, until none is left.
func killOrphans() {
	for range orphanRounds {
		left := children(0)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
		time.Sleep(orphanPause)
	}
}

// birth identifies a process beyond its id, which the kernel gives out again:
// by the boot of the machine and the clock tick at which it started (proc(5)).
// It is empty when there is no such process, or only what is left of one that
// ended and was not waited for. An error says that nobody knows.
func birth(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// The command's name, in parentheses, may hold anything, so fields are counted
	// from the last parenthesis: the state is the third, the start time the 22nd.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has another form than proc(5) says", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", nil
	}
	return strings.TrimSpace(string(boot)) + " " + fields[19], nil
}
