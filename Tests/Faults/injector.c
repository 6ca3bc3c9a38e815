/* Runs a command and fails or kills it at one of its system calls; Linux on x86-64.

   usage: injector [option...] LOG -- COMMAND [ARGUMENT...]
     -a TEXT    count from the first call on whose path has TEXT in it (what the dynamic linker does is not counted)
     -r ROOT    count no calls on absolute paths that lie neither beneath nor above ROOT, such as the system's own files
     -c CLASS   count calls of one class only: open, read, write, sync, close, link, rename, unlink, mkdir, list, stat, size,
                lock, map, mode, inotify; and of these only calls on files and directories, not on pipes and the like
     -n         count calls on the network, too: classes connect, send, receive
     -k N       SIGKILL to the whole process when call N is about to be made
     -f N       call N is not made and fails with the number of -e
     -l N       call N is made and reported as failed with the number of -e, as a network file system may do
     -s N       call N, a write, writes half of what it was given
     -e NUMBER  the error number
     -o         and every counted call after N, too

   Each counted call is a line of LOG: number, thread, class, name, what it is about, device:inode where it is about an open
   file, and `killed`, `failed`, `late`, `short` or `-`, all between tabs. The last line is `exit N` or `signal N`.

   Why not `strace -e inject=…:when=N`: strace counts the calls of each thread by itself, so with several threads N means as many
   calls, and calls that come later than another thread's Nth are never reached. Here one counter serves all threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the injector knows the registers of x86-64 only"
#endif

/* Which argument a call is about: the path at that place, the descriptor, or neither. */
enum about { NOTHING, DESCRIPTOR, PATH0, PATH1, PATH3, MAPPED, SOCKET };

static const struct call {
    long number;
    const char *class, *name;
    enum about about;
} calls[] = {
#define CALL(class, name, about) {SYS_##name, class, #name, about}
    CALL("open", open, PATH0), CALL("open", openat, PATH1), CALL("open", openat2, PATH1), CALL("open", creat, PATH0),
    CALL("read", read, DESCRIPTOR), CALL("read", pread64, DESCRIPTOR), CALL("read", readv, DESCRIPTOR), CALL("read", preadv, DESCRIPTOR),
    CALL("write", write, DESCRIPTOR), CALL("write", pwrite64, DESCRIPTOR), CALL("write", writev, DESCRIPTOR), CALL("write", pwritev, DESCRIPTOR),
    CALL("write", copy_file_range, DESCRIPTOR), CALL("write", sendfile, DESCRIPTOR),
    CALL("sync", fsync, DESCRIPTOR), CALL("sync", fdatasync, DESCRIPTOR), CALL("sync", sync_file_range, DESCRIPTOR), CALL("sync", syncfs, DESCRIPTOR),
    CALL("close", close, DESCRIPTOR),
    CALL("link", link, PATH1), CALL("link", linkat, PATH3), CALL("link", symlink, PATH1), CALL("link", symlinkat, PATH0),
    CALL("rename", rename, PATH1), CALL("rename", renameat, PATH3), CALL("rename", renameat2, PATH3),
    CALL("unlink", unlink, PATH0), CALL("unlink", unlinkat, PATH1), CALL("unlink", rmdir, PATH0),
    CALL("mkdir", mkdir, PATH0), CALL("mkdir", mkdirat, PATH1),
    CALL("list", getdents64, DESCRIPTOR),
    CALL("stat", stat, PATH0), CALL("stat", lstat, PATH0), CALL("stat", fstat, DESCRIPTOR), CALL("stat", newfstatat, PATH1), CALL("stat", statx, PATH1),
    CALL("stat", access, PATH0), CALL("stat", faccessat, PATH1), CALL("stat", faccessat2, PATH1), CALL("stat", statfs, PATH0), CALL("stat", fstatfs, DESCRIPTOR),
    CALL("stat", readlink, PATH0), CALL("stat", readlinkat, PATH1),
    CALL("size", ftruncate, DESCRIPTOR), CALL("size", truncate, PATH0), CALL("size", fallocate, DESCRIPTOR),
    CALL("lock", fcntl, DESCRIPTOR), CALL("lock", flock, DESCRIPTOR),
    CALL("map", mmap, MAPPED),
    CALL("mode", fchmod, DESCRIPTOR), CALL("mode", chmod, PATH0), CALL("mode", fchown, DESCRIPTOR), CALL("mode", chown, PATH0), CALL("mode", utimensat, PATH1),
    CALL("inotify", inotify_init1, NOTHING), CALL("inotify", inotify_add_watch, PATH1),
    CALL("connect", connect, SOCKET), CALL("send", sendto, SOCKET), CALL("send", sendmsg, SOCKET), CALL("receive", recvfrom, SOCKET), CALL("receive", recvmsg, SOCKET),
};
enum { CALLS = sizeof calls / sizeof *calls };

static struct {
    const char *arm, *root, *class;
    long kill, fail, late, half;
    int error, onward, network;
} wish;
static FILE *report;
static pid_t command;
static long counted;
static int armed;

static void give_up(const char *what) {
    fprintf(stderr, "injector: %s: %s\n", what, strerror(errno));
    if (command > 0) kill(command, SIGKILL);
    exit(2);
}

/* Only the calls of the table stop; all others run at full speed. */
static void install_filter(void) {
    struct sock_filter code[CALLS + 4] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (int i = 0; i < CALLS; i++)
        code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, CALLS - i, 0);
    code[CALLS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[CALLS + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog program = {CALLS + 3, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(126);
}

/* The path at an address of the command, as far as it lies in the same page or the next. */
static void read_path(pid_t thread, unsigned long address, char *path, size_t size) {
    size_t done = 0;
    path[0] = 0;
    while (done + 1 < size) {
        size_t length = 4096 - (address + done) % 4096;
        if (length > size - 1 - done) length = size - 1 - done;
        struct iovec here = {path + done, length}, there = {(void *)(address + done), length};
        ssize_t count = process_vm_readv(thread, &here, 1, &there, 1, 0);
        if (count <= 0) break;
        done += (size_t)count;
        path[done] = 0;
        if (strlen(path) < done) break;
    }
    for (char *c = path; *c; c++)
        if (*c == '\t' || *c == '\n') *c = '?';
}

/* What an open descriptor is of, and its device and inode. Whether that is a file or a directory. */
static int describe(pid_t thread, int descriptor, char *target, size_t size, char *identity, size_t identity_size) {
    char link[64];
    struct stat facts;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", thread, descriptor);
    ssize_t length = readlink(link, target, size - 1);
    target[length < 0 ? 0 : length] = 0;
    if (stat(link, &facts)) return 0;
    snprintf(identity, identity_size, "%lx:%lu", (unsigned long)facts.st_dev, (unsigned long)facts.st_ino);
    return (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)) && target[0] == '/';
}

static int is_lock(const struct user_regs_struct *registers) {
    long what = (long)registers->rsi;
    return what == F_SETLK || what == F_SETLKW || what == F_GETLK || (what >= F_OFD_GETLK && what <= F_OFD_SETLKW);
}

/* Whether a path is relative, beneath the root, on the way to it, or another name of an open file. */
static int is_ours(const char *path) {
    size_t length = strlen(path);
    if (!wish.root || path[0] != '/' || strncmp(path, "/proc/self/fd/", 14) == 0) return 1;
    size_t root = strlen(wish.root);
    return strncmp(path, wish.root, length < root ? length : root) == 0;
}

/* Whether the call at which a thread has stopped counts, and what it is about. */
static int counts(pid_t thread, const struct call *call, const struct user_regs_struct *registers, char *target, char *identity) {
    int file = 1;
    identity[0] = target[0] = 0;
    switch (call->about) {
    case NOTHING: break;
    case DESCRIPTOR: file = describe(thread, (int)(call->number == SYS_copy_file_range ? registers->rdx : registers->rdi), target, 4096, identity, 64); break;
    case SOCKET: file = wish.network; break;
    case MAPPED: file = (int)registers->r8 >= 0 && describe(thread, (int)registers->r8, target, 4096, identity, 64); break;
    case PATH0: read_path(thread, registers->rdi, target, 4096); break;
    case PATH1: read_path(thread, registers->rsi, target, 4096); break;
    case PATH3: read_path(thread, registers->r10, target, 4096); break;
    }
    /* fstat is newfstatat of a descriptor with an empty path. */
    if (call->about == PATH1 && !target[0] && strcmp(call->class, "stat") == 0) file = describe(thread, (int)registers->rdi, target, 4096, identity, 64);
    if (call->number == SYS_fcntl && !is_lock(registers)) return 0;
    if (!armed && wish.arm && !strstr(target, wish.arm)) return 0;
    armed = 1;
    return file && is_ours(target) && (!wish.class || strcmp(wish.class, call->class) == 0);
}

static int is_due(long point) { return point && (counted == point || (wish.onward && counted > point)); }

/* A thread is about to make a call of the table. Returns how it goes on: to its next stop, or to the call's end. */
static int enter(pid_t thread) {
    struct user_regs_struct registers;
    char target[4096], identity[64];
    if (ptrace(PTRACE_GETREGS, thread, 0, &registers)) return PTRACE_CONT;
    const struct call *call = calls;
    while (call < calls + CALLS && call->number != (long)registers.orig_rax) call++;
    if (call == calls + CALLS || !counts(thread, call, &registers, target, identity)) return PTRACE_CONT;
    counted++;
    const char *done = "-";
    int request = PTRACE_CONT;
    if (is_due(wish.kill)) {
        done = "killed";
        kill(command, SIGKILL);
    } else if (is_due(wish.fail)) {
        done = "failed";
        registers.orig_rax = (unsigned long)-1;
        registers.rax = (unsigned long)-wish.error;
        if (ptrace(PTRACE_SETREGS, thread, 0, &registers)) give_up("PTRACE_SETREGS");
    } else if (is_due(wish.half) && strcmp(call->class, "write") == 0 && registers.rdx > 1 && call->number != SYS_copy_file_range) {
        done = "short";
        registers.rdx /= 2;
        if (ptrace(PTRACE_SETREGS, thread, 0, &registers)) give_up("PTRACE_SETREGS");
    } else if (is_due(wish.late)) {
        done = "late";
        request = PTRACE_SYSCALL;
    }
    fprintf(report, "%ld\t%d\t%s\t%s\t%s\t%s\t%s\n", counted, thread, call->class, call->name, target, identity, done);
    return request;
}

/* A call that was to be made and reported as failed has been made; if it failed by itself, that stands. */
static void leave(pid_t thread) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread, 0, &registers)) return;
    if ((long)registers.rax < 0) return;
    registers.rax = (unsigned long)-wish.error;
    if (ptrace(PTRACE_SETREGS, thread, 0, &registers)) give_up("PTRACE_SETREGS");
}

static void begin(char **arguments) {
    int gate[2];
    if (pipe(gate)) give_up("pipe");
    command = fork();
    if (command < 0) give_up("fork");
    if (command == 0) {
        char byte;
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1) _exit(126);
        close(gate[0]);
        install_filter();
        execvp(arguments[0], arguments);
        _exit(127);
    }
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    if (ptrace(PTRACE_SEIZE, command, 0, options)) give_up("PTRACE_SEIZE");
    if (write(gate[1], "", 1) != 1) give_up("write");
    close(gate[0]);
    close(gate[1]);
}

/* Follows all threads to the end of the command; returns its status as wait gives it. */
static int follow(void) {
    for (;;) {
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) {
            if (errno == EINTR) continue;
            give_up("waitpid");
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == command) return status;
            continue;
        }
        int event = status >> 16, signal = WSTOPSIG(status), request = PTRACE_CONT;
        if (event == PTRACE_EVENT_SECCOMP) {
            request = enter(thread);
            signal = 0;
        } else if (signal == (SIGTRAP | 0x80)) {
            leave(thread);
            signal = 0;
        } else if (event) {
            /* A new thread, an exec, or the stop that a new thread begins with. */
            signal = 0;
        }
        /* A thread that was killed meanwhile is gone; its end comes by waitpid. */
        ptrace(request, thread, 0, signal);
    }
}

int main(int count, char **arguments) {
    int option;
    while ((option = getopt(count, arguments, "+a:r:c:k:f:l:s:e:no")) != -1) {
        switch (option) {
        case 'a': wish.arm = optarg; break;
        case 'r': wish.root = optarg; break;
        case 'c': wish.class = optarg; break;
        case 'k': wish.kill = atol(optarg); break;
        case 'f': wish.fail = atol(optarg); break;
        case 'l': wish.late = atol(optarg); break;
        case 's': wish.half = atol(optarg); break;
        case 'e': wish.error = atoi(optarg); break;
        case 'n': wish.network = 1; break;
        case 'o': wish.onward = 1; break;
        default: return 2;
        }
    }
    if (optind + 2 >= count || strcmp(arguments[optind + 1], "--") != 0) {
        fprintf(stderr, "injector: LOG -- COMMAND is expected\n");
        return 2;
    }
    report = fopen(arguments[optind], "we");
    if (!report) give_up(arguments[optind]);
    begin(arguments + optind + 2);
    int status = follow();
    if (WIFSIGNALED(status)) fprintf(report, "signal %d\n", WTERMSIG(status));
    else fprintf(report, "exit %d\n", WEXITSTATUS(status));
    if (fclose(report)) give_up("the log");
    return 0;
}
