//go:build linux || darwin || freebsd

package store

import "syscall"

// space gives what is free on the disk that a directory is on.
func space(dir string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
