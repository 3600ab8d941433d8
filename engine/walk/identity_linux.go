package walk

import (
	"io/fs"
	"syscall"
)

// identity returns a file's inode and the time at which anything about it last changed, in nanoseconds since 1970.
func identity(info fs.FileInfo) (inode uint64, changed int64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino, stat.Ctim.Nano()
	}
	return 0, 0
}
