#ifndef CLINUX_H
#define CLINUX_H

// Calls that Glibc's Swift module does not offer. Each returns -1 and sets errno on failure.

/// Opens `path` beneath the directory `dirfd`, following no link and never leaving that directory (openat2(2)).
int clinux_open_beneath(int dirfd, const char *path, int flags, unsigned int mode);

/// The magic number of the file system that `fd` lies on (fstatfs(2)).
long clinux_file_system_type(int fd);

/// Lets the process leave no core dump, and no other process of its user read its memory (setrlimit(2), prctl(2)).
int clinux_forbid_dumps(void);

/// Gives all threads one heap (mallopt(3)); does nothing where the C library is another.
void clinux_share_heap(void);

/// The process's arguments as its C entry point got them; NULL where the C library does not hand them to constructors.
/// Swift's library looks for them below `environ`, which a preloaded library may have moved with setenv(3) before a static program starts.
char *const *clinux_arguments(void);

#endif
