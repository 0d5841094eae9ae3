//go:build linux || darwin || freebsd

package bolt

import "syscall"

// freeBytes returns the free bytes on the disk of a directory.
func freeBytes(dir string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
