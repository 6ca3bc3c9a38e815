// libcurl of the tests' command, which loads it at its first request: it brings 25 libraries, as much work for the loader as the rest of a short
// command, and most tests have no bucket. A function that is missing here is linked as usual, which gives up the saving.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

static void *function(const char *name) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) abort();
    return found;
}

#define CALL(result, name, parameters, ...) result name parameters { return ((result (*) parameters)function(#name))(__VA_ARGS__); }
// Whether the last argument is a number or a pointer, it is one register.
#define CALL_VARIADIC(name)                                          \
    int name(void *handle, int what, ...) {                          \
        va_list rest;                                                \
        va_start(rest, what);                                        \
        void *value = va_arg(rest, void *);                          \
        va_end(rest);                                                \
        return ((int (*)(void *, int, ...))function(#name))(handle, what, value); \
    }

CALL(int, curl_global_init, (long flags), flags)
CALL(void *, curl_easy_init, (void))
CALL(void, curl_easy_reset, (void *handle), handle)
CALL(void, curl_easy_cleanup, (void *handle), handle)
CALL(int, curl_easy_perform, (void *handle), handle)
CALL(const char *, curl_easy_strerror, (int code), code)
CALL(void *, curl_slist_append, (void *list, const char *text), list, text)
CALL(void, curl_slist_free_all, (void *list), list)
CALL_VARIADIC(curl_easy_setopt)
CALL_VARIADIC(curl_easy_getinfo)
