#include "CSQLiteConfig.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// SQLite's Unix files write at most 128 KiB - 1 in one call.
#define WRITE_CAPACITY (120 * 1024)
#define READ_CAPACITY (64 * 1024)
// Reads whose distance is below this are a pass over the log.
#define READ_GAP (16 * 1024)
// The byte of the wal-index that is SQLite's lock for writing (walformat.html, section 2.3.1).
#define WRITE_LOCK 0

// A part of the file in memory.
struct piece {
    sqlite3_int64 offset;
    int count;
    char *bytes;
};

// The methods of the two files are replaced by copies with some of ours. A file's methods are found through the file, and so is the structure
// that they begin.
struct csqlite_log {
    struct log_methods {
        sqlite3_io_methods own;
        struct csqlite_log *log;
    } log_methods, database_methods;
    const sqlite3_io_methods *log_real, *database_real;
    sqlite3_file *log_file, *database_file;
    // What SQLite has written and the file does not have yet.
    struct piece written;
    // What the file has.
    struct piece ahead;
    // Where the last read began that these bytes did not serve.
    sqlite3_int64 last;
};

static struct csqlite_log *log_of(sqlite3_file *file) { return ((const struct log_methods *)file->pMethods)->log; }

static int overlaps(const struct piece *piece, sqlite3_int64 offset, int count) {
    return piece->count > 0 && offset < piece->offset + piece->count && offset + count > piece->offset;
}

static int contains(const struct piece *piece, sqlite3_int64 offset, int count) {
    return offset >= piece->offset && offset + count <= piece->offset + piece->count;
}

static void leave_files(struct csqlite_log *log) {
    if (log->log_file) log->log_file->pMethods = log->log_real;
    if (log->database_file) log->database_file->pMethods = log->database_real;
    log->log_file = log->database_file = NULL;
}

static int flush(struct csqlite_log *log) {
    int code;
    if (log->written.count == 0) return SQLITE_OK;
    code = log->log_real->xWrite(log->log_file, log->written.bytes, log->written.count, log->written.offset);
    if (code == SQLITE_OK) log->written.count = 0;
    return code;
}

static int log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct csqlite_log *log = log_of(file);
    struct piece *written = &log->written;
    int code;
    if (overlaps(&log->ahead, offset, count)) {
        // Keep what was read ahead: when SQLite computes checksums anew, it writes into each frame that it has just read.
        if (contains(&log->ahead, offset, count)) memcpy(log->ahead.bytes + (offset - log->ahead.offset), bytes, (size_t)count);
        else log->ahead.count = 0;
    }
    if (written->count > 0 && contains(written, offset, count)) {
        memcpy(written->bytes + (offset - written->offset), bytes, (size_t)count);
        return SQLITE_OK;
    }
    if (written->count == 0 || offset != written->offset + written->count || written->count + count > WRITE_CAPACITY) {
        code = flush(log);
        if (code != SQLITE_OK) return code;
        if (count > WRITE_CAPACITY) return log->log_real->xWrite(file, bytes, count, offset);
        written->offset = offset;
    }
    memcpy(written->bytes + written->count, bytes, (size_t)count);
    written->count += count;
    return SQLITE_OK;
}

// Reads the file from `offset` on. Returns whether at least `count` bytes were read.
static int read_ahead(struct csqlite_log *log, int count, sqlite3_int64 offset) {
    sqlite3_int64 size = 0;
    int wanted = READ_CAPACITY;
    log->ahead.count = 0;
    if (log->log_real->xFileSize(log->log_file, &size) != SQLITE_OK || size - offset < count) return 0;
    if (size - offset < wanted) wanted = (int)(size - offset);
    if (log->log_real->xRead(log->log_file, log->ahead.bytes, wanted, offset) != SQLITE_OK) return 0;
    log->ahead.offset = offset;
    log->ahead.count = wanted;
    return 1;
}

// Whether a read that begins or ends at `offset` goes on from `place`, or nearly so.
static int continues(sqlite3_int64 offset, sqlite3_int64 place, int direction) {
    sqlite3_int64 gap = (offset - place) * direction;
    return gap > -READ_GAP / 2 && gap < READ_GAP;
}

static int log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    struct csqlite_log *log = log_of(file);
    struct piece *ahead = &log->ahead;
    int code;
    if (overlaps(&log->written, offset, count)) {
        if (contains(&log->written, offset, count)) {
            memcpy(bytes, log->written.bytes + (offset - log->written.offset), (size_t)count);
            return SQLITE_OK;
        }
        code = flush(log);
        if (code != SQLITE_OK) return code;
    }
    if (ahead->count == 0 || !contains(ahead, offset, count)) {
        // New rows fill pages in ascending order. Pages that were freed are used in descending order.
        int ascends = continues(offset, log->last + count, 1) || (ahead->count > 0 && continues(offset, ahead->offset + ahead->count, 1));
        int descends = continues(offset + count, log->last, -1) || (ahead->count > 0 && continues(offset + count, ahead->offset, -1));
        sqlite3_int64 start = ascends ? offset : offset + count - READ_CAPACITY;
        log->last = offset;
        if ((!ascends && !descends) || start < 0 || count > READ_GAP) return log->log_real->xRead(file, bytes, count, offset);
        code = flush(log);
        if (code != SQLITE_OK) return code;
        if (!read_ahead(log, (int)(offset - start) + count, start)) return log->log_real->xRead(file, bytes, count, offset);
    }
    memcpy(bytes, ahead->bytes + (offset - ahead->offset), (size_t)count);
    return SQLITE_OK;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct csqlite_log *log = log_of(file);
    int code = flush(log);
    log->ahead.count = 0;
    return code == SQLITE_OK ? log->log_real->xTruncate(file, size) : code;
}

static int log_sync(sqlite3_file *file, int flags) {
    struct csqlite_log *log = log_of(file);
    int code = flush(log);
    // After the transaction other connections may write to the log.
    log->ahead.count = 0;
    return code == SQLITE_OK ? log->log_real->xSync(file, flags) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    struct csqlite_log *log = log_of(file);
    int code = flush(log);
    return code == SQLITE_OK ? log->log_real->xFileSize(file, size) : code;
}

static int log_close(sqlite3_file *file) {
    struct csqlite_log *log = log_of(file);
    int code = flush(log), closed;
    leave_files(log);
    closed = file->pMethods->xClose(file);
    return code == SQLITE_OK ? closed : code;
}

static int database_lock(sqlite3_file *file, int offset, int count, int flags) {
    struct csqlite_log *log = log_of(file);
    if (offset == WRITE_LOCK && (flags & SQLITE_SHM_UNLOCK)) {
        // What is left belongs to a transaction that was rolled back: a commit has synced the file. From now on another connection may write there.
        (void)flush(log);
        log->written.count = 0;
        log->ahead.count = 0;
    }
    return log->database_real->xShmLock(file, offset, count, flags);
}

static int database_close(sqlite3_file *file) {
    leave_files(log_of(file));
    return file->pMethods->xClose(file);
}

struct csqlite_log *csqlite_log_gather(struct sqlite3 *db) {
    sqlite3_file *log_file = NULL, *database_file = NULL;
    struct csqlite_log *log;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &database_file) != SQLITE_OK) return NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log_file) != SQLITE_OK) return NULL;
    if (!database_file || !database_file->pMethods || database_file->pMethods->iVersion < 2 || !log_file || !log_file->pMethods) return NULL;
    if (!(database_file->pMethods->xDeviceCharacteristics(database_file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE)) return NULL;
    log = calloc(1, sizeof *log);
    if (!log) return NULL;
    log->written.bytes = malloc(WRITE_CAPACITY);
    log->ahead.bytes = malloc(READ_CAPACITY);
    if (!log->written.bytes || !log->ahead.bytes) {
        csqlite_log_end(log);
        return NULL;
    }
    log->last = -2 * READ_CAPACITY;
    log->log_real = log_file->pMethods;
    log->database_real = database_file->pMethods;
    log->log_methods = (struct log_methods){*log->log_real, log};
    log->log_methods.own.xRead = log_read;
    log->log_methods.own.xWrite = log_write;
    log->log_methods.own.xTruncate = log_truncate;
    log->log_methods.own.xSync = log_sync;
    log->log_methods.own.xFileSize = log_size;
    log->log_methods.own.xClose = log_close;
    log->database_methods = (struct log_methods){*log->database_real, log};
    log->database_methods.own.xShmLock = database_lock;
    log->database_methods.own.xClose = database_close;
    log->log_file = log_file;
    log->database_file = database_file;
    log_file->pMethods = &log->log_methods.own;
    database_file->pMethods = &log->database_methods.own;
    return log;
}

void csqlite_log_end(struct csqlite_log *log) {
    if (!log) return;
    leave_files(log);
    free(log->written.bytes);
    free(log->ahead.bytes);
    free(log);
}
