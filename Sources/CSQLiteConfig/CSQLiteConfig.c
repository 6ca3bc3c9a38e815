#include "CSQLiteConfig.h"
#include <sqlite3.h>

int csqlite_enable_triggers(struct sqlite3 *db, int enabled) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, enabled, (int *)0);
}
