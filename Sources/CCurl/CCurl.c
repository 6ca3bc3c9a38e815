#include "CCurl.h"

#include <CLoader.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_perform)(CURL *);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
} curl;

static int is_open, is_loaded;
static pthread_once_t once_opened = PTHREAD_ONCE_INIT, once_loaded = PTHREAD_ONCE_INIT;

static void open_library(void) {
#ifdef __APPLE__
    static const char *const names[] = {"libcurl.4.dylib", "/usr/lib/libcurl.4.dylib", 0};
#else
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", 0};
#endif
    static const struct snapsync_symbol symbols[] = {
        {"curl_global_init", &curl.global_init},
        {"curl_easy_init", &curl.easy_init},
        {"curl_easy_cleanup", &curl.easy_cleanup},
        {"curl_easy_reset", &curl.easy_reset},
        {"curl_easy_perform", &curl.easy_perform},
        {"curl_easy_strerror", &curl.easy_strerror},
        {"curl_slist_append", &curl.slist_append},
        {"curl_slist_free_all", &curl.slist_free_all},
        {"curl_easy_setopt", &curl.easy_setopt},
        {"curl_easy_getinfo", &curl.easy_getinfo},
        {0, 0},
    };
    is_open = snapsync_load(names, symbols);
}

static void load(void) {
    pthread_once(&once_opened, open_library);
    is_loaded = is_open && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

int snapsync_curl_load(void) {
    pthread_once(&once_loaded, load);
    return is_loaded;
}

// Libcurl's own beginning is left to the first request: what OpenSSL registers there for the end of the process would run beside it, if the process
// ends meanwhile.
static void *open_aside(void *unused) {
    pthread_once(&once_opened, open_library);
    return unused;
}

static pthread_t opener;
static pid_t opener_process;

// A process that ends while the dynamic linker loads a library crashes.
static void await_opener(void) {
    // A child that was forked has no such thread.
    if (getpid() == opener_process) pthread_join(opener, 0);
}

void snapsync_curl_begin_loading(void) {
    static atomic_flag has_begun = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&has_begun)) return;
    // Without a thread, the first request loads it.
    if (atexit(await_opener) != 0) return;
    if (pthread_create(&opener, 0, open_aside, 0) == 0) opener_process = getpid();
}

CURL *snapsync_curl_make(void) { return curl.easy_init(); }
void snapsync_curl_free(CURL *handle) { curl.easy_cleanup(handle); }
void snapsync_curl_reset(CURL *handle) { curl.easy_reset(handle); }
CURLcode snapsync_curl_perform(CURL *handle) { return curl.easy_perform(handle); }
const char *snapsync_curl_words(CURLcode code) { return curl.easy_strerror(code); }
struct curl_slist *snapsync_curl_append(struct curl_slist *list, const char *text) { return curl.slist_append(list, text); }
void snapsync_curl_free_list(struct curl_slist *list) { curl.slist_free_all(list); }

CURLcode snapsync_curl_set_long(CURL *handle, CURLoption option, long value) { return curl.easy_setopt(handle, option, value); }
CURLcode snapsync_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) { return curl.easy_setopt(handle, option, value); }
CURLcode snapsync_curl_set_text(CURL *handle, CURLoption option, const char *value) { return curl.easy_setopt(handle, option, value); }
CURLcode snapsync_curl_set_pointer(CURL *handle, CURLoption option, const void *value) { return curl.easy_setopt(handle, option, value); }
CURLcode snapsync_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) { return curl.easy_setopt(handle, option, value); }
CURLcode snapsync_curl_set_callback(CURL *handle, CURLoption option, snapsync_curl_callback value) {
    return curl.easy_setopt(handle, option, value);
}
CURLcode snapsync_curl_get_long(CURL *handle, CURLINFO info, long *value) { return curl.easy_getinfo(handle, info, value); }
