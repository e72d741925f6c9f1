//go:build unix && !linux

package local

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
)

// Only Linux lets a process adopt those that its descendants leave behind. Here a
// process that left the command's group is not found again.
func adoptOrphans() error { return nil }
func buryOrphans(int)     {}
func killOrphans()        {}

// birth identifies a process beyond its id, which the kernel gives out again: by
// the second in which it started. It is empty when there is no such process, or
// only what is left of one that ended and was not waited for. An error says that
// nobody knows.
func birth(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return "", nil // ps found no such process
	}
	if err != nil {
		return "", err
	}
	state, born, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") {
		return "", nil
	}
	return strings.TrimSpace(born), nil
}
