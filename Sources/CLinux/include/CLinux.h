#ifndef CLINUX_H
#define CLINUX_H

// Two calls that Glibc's Swift module does not offer.

/// Opens `path` beneath the directory `dirfd`, following no link and never leaving that directory (openat2(2)).
/// Falls back to openat(2) with O_NOFOLLOW where the kernel has no openat2. Returns -1 and sets errno on failure.
int clinux_open_beneath(int dirfd, const char *path, int flags, unsigned int mode);

/// The magic number of the file system that `fd` lies on, or -1 with errno set (fstatfs(2)).
long clinux_file_system_type(int fd);

#endif
