#ifndef SNAPSYNC_CISAL_H
#define SNAPSYNC_CISAL_H

#include <stddef.h>
#include <stdint.h>

// Deflate streams and checksums by ISA-L, loaded when they are first needed: it is several times as fast as zlib, and many systems lack it.

/// Loads ISA-L. Returns 0 if it is not installed, or was not known when this was compiled. Any thread may call it, any number of times.
int snapsync_isal_load(void);

// What follows may be called only after snapsync_isal_load has returned 1.

struct snapsync_isal_deflater;

/// Makes a deflater; NULL for want of memory. One thread at a time uses it.
struct snapsync_isal_deflater *snapsync_isal_deflater_make(void);
void snapsync_isal_deflater_free(struct snapsync_isal_deflater *deflater);

/// Compresses a whole input to one raw deflate stream. Returns the stream's length in bytes; 0 if there is not enough room for it.
size_t snapsync_isal_deflate(
    struct snapsync_isal_deflater *deflater, const uint8_t *input, uint32_t count, uint8_t *target, uint32_t room);

struct snapsync_isal_inflater;

/// Makes an inflater; NULL for want of memory. One thread at a time uses it.
struct snapsync_isal_inflater *snapsync_isal_inflater_make(void);
void snapsync_isal_inflater_free(struct snapsync_isal_inflater *inflater);

enum snapsync_isal_outcome {
    /// The stream has ended; `unread` bytes of the input follow it, and `room` bytes of the target are left.
    SNAPSYNC_ISAL_ENDED,
    /// The stream holds more than the target has room for.
    SNAPSYNC_ISAL_TOO_LONG,
    /// It is no deflate stream, or cut.
    SNAPSYNC_ISAL_BROKEN,
};

/// Decompresses a raw deflate stream to `target`, and writes at most `*room` bytes there.
enum snapsync_isal_outcome snapsync_isal_inflate(
    struct snapsync_isal_inflater *inflater, const uint8_t *input, uint32_t count, uint8_t *target, uint32_t *room, uint32_t *unread);

/// The CRC-32 of bytes (RFC 1952), going on from that of the bytes before.
uint32_t snapsync_isal_crc(uint32_t crc, const uint8_t *bytes, uint64_t count);

#endif
