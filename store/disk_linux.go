package store

import "syscall"

// The magic numbers that statfs(2) reports for file systems on another machine.
const (
	magicNFS  = 0x6969
	magicSMB  = 0x517B
	magicCIFS = 0xFF534D42
	magicSMB2 = 0xFE534D42
	magicAFS  = 0x5346414F
	magicCeph = 0x00C36400
)

// disk reports the bytes that this process may still write beside dir, and the
// name of the network file system that dir is on, empty when it is local.
func disk(dir string) (free int64, network string, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, "", err
	}
	names := map[uint32]string{magicNFS: "NFS", magicSMB: "SMB", magicCIFS: "CIFS", magicSMB2: "SMB", magicAFS: "AFS", magicCeph: "Ceph"}
	return int64(st.Bavail) * st.Bsize, names[uint32(st.Type)], nil
}
