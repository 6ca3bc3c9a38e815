#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <linux/openat2.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int clinux_open_beneath(int dirfd, const char *path, int flags, unsigned int mode) {
    struct open_how how;
    memset(&how, 0, sizeof how);
    how.flags = (unsigned long long)(unsigned int)(flags | O_CLOEXEC);
    // O_TMPFILE contains O_DIRECTORY's bit, and openat2 refuses a mode where nothing is made.
    how.mode = ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

long clinux_file_system_type(int fd) {
    struct statfs info;
    if (fstatfs(fd, &info) != 0) return -1;
    return (long)info.f_type;
}

static char *const *arguments = 0;

#ifdef __GLIBC__
// Glibc calls every constructor with the arguments of main; other C libraries call it with none.
__attribute__((constructor)) static void keep_arguments(int argc, char **argv, char **envp) {
    (void)argc;
    (void)envp;
    arguments = argv;
}
#endif

char *const *clinux_arguments(void) { return arguments; }

void clinux_share_heap(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

int clinux_forbid_dumps(void) {
    struct rlimit none = {0, 0};
    int limited = setrlimit(RLIMIT_CORE, &none);
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? limited : -1;
}
