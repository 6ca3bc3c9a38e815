#include "CIsal.h"

#if __has_include(<isa-l/igzip_lib.h>)

#include <CLoader.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    void (*deflate_init)(struct isal_zstream *);
    int (*deflate)(struct isal_zstream *);
    void (*inflate_init)(struct inflate_state *);
    int (*inflate)(struct inflate_state *);
    uint32_t (*crc)(uint32_t, const unsigned char *, uint64_t);
} isal;

static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#ifdef __APPLE__
    static const char *const names[] = {"libisal.2.dylib", 0};
#else
    static const char *const names[] = {"libisal.so.2", 0};
#endif
    static const struct snapsync_symbol symbols[] = {
        {"isal_deflate_stateless_init", &isal.deflate_init},
        {"isal_deflate_stateless", &isal.deflate},
        {"isal_inflate_init", &isal.inflate_init},
        {"isal_inflate_stateless", &isal.inflate},
        {"crc32_gzip_refl", &isal.crc},
        {0, 0},
    };
    is_loaded = snapsync_load(names, symbols);
}

int snapsync_isal_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

struct snapsync_isal_deflater {
    struct isal_zstream stream;
    uint8_t level[ISAL_DEF_LVL2_DEFAULT];
};

struct snapsync_isal_deflater *snapsync_isal_deflater_make(void) { return calloc(1, sizeof(struct snapsync_isal_deflater)); }

void snapsync_isal_deflater_free(struct snapsync_isal_deflater *deflater) { free(deflater); }

size_t snapsync_isal_deflate(
    struct snapsync_isal_deflater *deflater, const uint8_t *input, uint32_t count, uint8_t *target, uint32_t room) {
    struct isal_zstream *stream = &deflater->stream;
    isal.deflate_init(stream);
    // The whole window: initialization leaves this field as it was.
    stream->hist_bits = 0;
    stream->level = 2;
    stream->level_buf = deflater->level;
    stream->level_buf_size = sizeof deflater->level;
    stream->end_of_stream = 1;
    stream->flush = NO_FLUSH;
    stream->next_in = (uint8_t *)input;
    stream->avail_in = count;
    stream->next_out = target;
    stream->avail_out = room;
    return isal.deflate(stream) == COMP_OK && stream->avail_in == 0 ? room - stream->avail_out : 0;
}

struct snapsync_isal_inflater {
    struct inflate_state state;
};

struct snapsync_isal_inflater *snapsync_isal_inflater_make(void) { return calloc(1, sizeof(struct snapsync_isal_inflater)); }

void snapsync_isal_inflater_free(struct snapsync_isal_inflater *inflater) { free(inflater); }

enum snapsync_isal_outcome snapsync_isal_inflate(
    struct snapsync_isal_inflater *inflater, const uint8_t *input, uint32_t count, uint8_t *target, uint32_t *room, uint32_t *unread) {
    struct inflate_state *state = &inflater->state;
    isal.inflate_init(state);
    state->hist_bits = 0;
    state->next_in = (uint8_t *)input;
    state->avail_in = count;
    state->next_out = target;
    state->avail_out = *room;
    int status = isal.inflate(state);
    *unread = state->avail_in;
    *room = state->avail_out;
    if (status == ISAL_OUT_OVERFLOW) return SNAPSYNC_ISAL_TOO_LONG;
    return status == ISAL_DECOMP_OK && state->block_state == ISAL_BLOCK_FINISH ? SNAPSYNC_ISAL_ENDED : SNAPSYNC_ISAL_BROKEN;
}

uint32_t snapsync_isal_crc(uint32_t crc, const uint8_t *bytes, uint64_t count) { return isal.crc(crc, bytes, count); }

#else

#include <stdlib.h>

int snapsync_isal_load(void) { return 0; }
struct snapsync_isal_deflater *snapsync_isal_deflater_make(void) { return NULL; }
void snapsync_isal_deflater_free(struct snapsync_isal_deflater *deflater) { (void)deflater; }
size_t snapsync_isal_deflate(
    struct snapsync_isal_deflater *deflater, const uint8_t *input, uint32_t count, uint8_t *target, uint32_t room) {
    (void)deflater, (void)input, (void)count, (void)target, (void)room;
    return 0;
}
struct snapsync_isal_inflater *snapsync_isal_inflater_make(void) { return NULL; }
void snapsync_isal_inflater_free(struct snapsync_isal_inflater *inflater) { (void)inflater; }
enum snapsync_isal_outcome snapsync_isal_inflate(
    struct snapsync_isal_inflater *inflater, const uint8_t *input, uint32_t count, uint8_t *target, uint32_t *room, uint32_t *unread) {
    (void)inflater, (void)input, (void)count, (void)target, (void)room, (void)unread;
    return SNAPSYNC_ISAL_BROKEN;
}
uint32_t snapsync_isal_crc(uint32_t crc, const uint8_t *bytes, uint64_t count) {
    (void)bytes, (void)count;
    return crc;
}

#endif
