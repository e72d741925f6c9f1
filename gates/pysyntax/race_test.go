//go:build race

package pysyntax

// sampleEvery is the share of files that TestCPython compares under the race
// detector, which makes the parser many times slower.
const sampleEvery = 40
