package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

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
