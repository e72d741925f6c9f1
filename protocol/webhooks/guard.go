package webhooks

import (
	"errors"
	"net/netip"
	"syscall"
)

// errPrivate refuses a connection before it is made.
var errPrivate = errors.New("its name leads to an address that is not public")

// reserved are the ranges that are globally routed to nobody, or lead back into a
// private network (IANA special-purpose registries), beside those that package
// netip knows.
func reserved() []netip.Prefix {
	var all []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// Public reports whether an address is one of the open internet.
func Public(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !netip.MustParsePrefix("2000::/3").Contains(ip) {
		return false // loopback, link-local, multicast, unspecified, private, NAT64
	}
	for _, p := range reserved() {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// refusePrivate is the dialer's last word: it sees the address that a connection is
// about to be made to.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !Public(at.Addr()) {
		return errPrivate
	}
	return nil
}
