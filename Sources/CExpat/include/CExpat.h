#ifndef SNAPSYNC_CEXPAT_H
#define SNAPSYNC_CEXPAT_H

#include <expat.h>

// Expat, loaded when it is first needed, for the reason that CCurl.h gives.

/// What a parser calls. The names of elements and the text are UTF-8.
struct snapsync_expat_handlers {
    void (*begin)(void *context, const char *name);
    void (*end)(void *context);
    void (*text)(void *context, const char *bytes, int count);
    /// At a document type declaration.
    void (*doctype)(void *context);
};

/// Loads Expat. Returns 0 if it is not installed. Any thread may call it, any number of times.
int snapsync_expat_load(void);

/// Parses a whole document. Returns 1 if it is well-formed, 0 if it is not. Only after snapsync_expat_load has returned 1.
int snapsync_expat_parse(const char *bytes, int count, const struct snapsync_expat_handlers *handlers, void *context);

#endif
