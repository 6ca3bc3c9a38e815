#include "CSQLiteConfig.h"
#include <sqlite3.h>

int csqlite_triggers(struct sqlite3 *db, int enabled, int *now) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, enabled, now);
}

int csqlite_quoted_text(struct sqlite3 *db, int enabled, int *now) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, enabled, now);
}
