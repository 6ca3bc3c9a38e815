#include <curl/curl.h>

// Calls that Swift cannot make because they are variadic: one function for each type of argument.

typedef size_t (*snapsync_curl_callback)(char *, size_t, size_t, void *);

static inline CURLcode snapsync_curl_set_long(CURL *handle, CURLoption option, long value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode snapsync_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode snapsync_curl_set_text(CURL *handle, CURLoption option, const char *value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode snapsync_curl_set_pointer(CURL *handle, CURLoption option, const void *value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode snapsync_curl_set_callback(CURL *handle, CURLoption option, snapsync_curl_callback value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode snapsync_curl_get_long(CURL *handle, CURLINFO info, long *value) { return curl_easy_getinfo(handle, info, value); }
