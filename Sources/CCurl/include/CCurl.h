#ifndef SNAPSYNC_CCURL_H
#define SNAPSYNC_CCURL_H

#include <curl/curl.h>

// libcurl, loaded when it is first needed. Linking it would make each start of the program load it and the thirty libraries that it
// needs, which takes longer than a sync with nothing to do. Only a cloud in a bucket needs it.

/// Loads libcurl and prepares it. Returns 0 if it is not installed. Any thread may call it, any number of times.
int snapsync_curl_load(void);

/// Begins to load libcurl on a thread of its own and returns at once, so that what the caller does next takes place meanwhile. Does
/// nothing if it has begun. A process that ends meanwhile waits until it is loaded.
void snapsync_curl_begin_loading(void);

// What follows may be called only after snapsync_curl_load has returned 1.

CURL *snapsync_curl_make(void);
void snapsync_curl_free(CURL *handle);
void snapsync_curl_reset(CURL *handle);
CURLcode snapsync_curl_perform(CURL *handle);
const char *snapsync_curl_words(CURLcode code);
struct curl_slist *snapsync_curl_append(struct curl_slist *list, const char *text);
void snapsync_curl_free_list(struct curl_slist *list);

// The calls that Swift cannot make, because they are variadic: one function for each type of argument.

typedef size_t (*snapsync_curl_callback)(char *, size_t, size_t, void *);
CURLcode snapsync_curl_set_long(CURL *handle, CURLoption option, long value);
CURLcode snapsync_curl_set_size(CURL *handle, CURLoption option, curl_off_t value);
CURLcode snapsync_curl_set_text(CURL *handle, CURLoption option, const char *value);
CURLcode snapsync_curl_set_pointer(CURL *handle, CURLoption option, const void *value);
CURLcode snapsync_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value);
CURLcode snapsync_curl_set_callback(CURL *handle, CURLoption option, snapsync_curl_callback value);
CURLcode snapsync_curl_get_long(CURL *handle, CURLINFO info, long *value);

#endif
