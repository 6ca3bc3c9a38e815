#include "CLoader.h"

#include <dlfcn.h>

int snapsync_load(const char *const *names, const struct snapsync_symbol *symbols) {
    void *library = 0;
    for (; !library && *names; names++) library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return 0;
    for (; symbols->name; symbols++) {
        // POSIX: the address of a function fits into a pointer to void.
        if (!(*(void **)symbols->slot = dlsym(library, symbols->name))) return 0;
    }
    return 1;
}
