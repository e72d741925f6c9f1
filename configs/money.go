package configs

import "strings"

// Dollars is an amount of US dollars as it was written, such as 159.9998. It is
// kept as text because a binary floating-point number cannot hold most amounts.
// protocol.ParseMicros reads it.
type Dollars string

// UnmarshalText takes an amount that was written as a TOML number. Strings never
// come here. Whether it is an amount at all is checked where it is used.
func (d *Dollars) UnmarshalText(text []byte) error {
	*d = Dollars(strings.ReplaceAll(string(text), "_", ""))
	return nil
}
