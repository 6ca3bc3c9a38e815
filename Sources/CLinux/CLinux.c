#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
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
    long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof how);
    // Some container sandboxes answer EPERM to a call that they do not know.
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)fd;
    return clinux_open_step_by_step(dirfd, path, flags, mode);
}

int clinux_open_step_by_step(int dirfd, const char *path, int flags, unsigned int mode) {
    char part[NAME_MAX + 1];
    int current = dirfd;
    if (path[0] == '\0') { errno = ENOENT; return -1; }
    for (;;) {
        size_t length = strcspn(path, "/");
        int is_last = path[length] == '\0', fd = -1;
        if (length > NAME_MAX) errno = ENAMETOOLONG;
        else if (length == 0 || (length == 2 && path[0] == '.' && path[1] == '.')) errno = EXDEV;
        else {
            memcpy(part, path, length);
            part[length] = '\0';
            fd = openat(current, part, (is_last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC, mode);
        }
        int failure = errno;
        if (current != dirfd) close(current);
        errno = failure;
        if (fd < 0 || is_last) return fd;
        current = fd;
        path += length + 1;
    }
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
