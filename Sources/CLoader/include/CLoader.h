#ifndef SNAPSYNC_CLOADER_H
#define SNAPSYNC_CLOADER_H

// Shared libraries that are loaded when they are first needed.

/// A function of a library, and the pointer that gets its address.
struct snapsync_symbol {
    const char *name;
    void *slot;
};

/// Loads the first library that is there, and looks its functions up. Returns 1 if it has all of them, else 0; some pointers may be set then.
///
/// Both lists end with a null pointer: `names` with one, `symbols` with a symbol whose name is one.
int snapsync_load(const char *const *names, const struct snapsync_symbol *symbols);

#endif
