//go:build !race

package pysyntax

// sampleEvery is the share of files that TestCPython compares: all of them.
const sampleEvery = 1
