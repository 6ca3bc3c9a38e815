// The wall clock of one process, for tests: preloaded (LD_PRELOAD), it makes the time of day what ORACLE_CLOCK says, in microseconds since 1970.
// The clock stands still, so that a statement's time is known to the model. Monotonic clocks and the times of files stay the system's.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long wall(void) {
    static long long known = -1;
    if (known < 0) {
        const char *text = getenv("ORACLE_CLOCK");
        known = text ? atoll(text) : 0;
    }
    return known;
}

int clock_gettime(clockid_t clock, struct timespec *to) {
    if ((clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && wall() > 0) {
        to->tv_sec = wall() / 1000000;
        to->tv_nsec = wall() % 1000000 * 1000;
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, to);
}

int timespec_get(struct timespec *to, int base) { return clock_gettime(CLOCK_REALTIME, to) == 0 ? base : 0; }

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
