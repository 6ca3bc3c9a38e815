# Devices agree on a description, or report that they do not.

column_becomes_nullable() {
    reader "CREATE TABLE t(id INTEGER PRIMARY KEY, n TEXT NOT NULL); INSERT INTO t VALUES(1, 'a')"
    for name in a b; do sql $name "BEGIN; CREATE TABLE new(id INTEGER PRIMARY KEY, n TEXT); INSERT INTO new SELECT * FROM t; DROP TABLE t; ALTER TABLE new RENAME TO t; COMMIT"; done
    sql a "INSERT INTO t VALUES(2, NULL)"
    sync a b
    is b "SELECT count(*) FROM t WHERE n IS NULL" 1
}

one_migration_with_two_values() {
    local type
    for type in JSON BLOB "DECIMAL(10,2)"; do
        rm -rf ./*
        peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x'), ('2', 'y')"
        for name in a b; do sql $name "ALTER TABLE t ADD COLUMN n $type"; done
        sql a "UPDATE t SET n = 'on request' WHERE id = '1'"
        sync a b
        join c
        all "SELECT n, typeof(n) FROM t" "on request|text" "|null"
    done
}

one_migration_with_two_timestamps() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY)"
    for name in a b; do sql $name "CREATE TABLE tags(id TEXT PRIMARY KEY, v TEXT, updated_at TEXT)"; done
    sql a "INSERT INTO tags VALUES('k', 'old', '2026-01-01T00:00:00Z'), ('m', 'old', 'January')"
    for name in a b; do snapsync tables add $name.db tags; done
    sync a b a
    local now="strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    sql a "UPDATE tags SET v = 'earlier', updated_at = $now WHERE id = 'k'"
    later b "UPDATE tags SET v = 'later', updated_at = $now WHERE id = 'k'"
    sync b a b a
    all "SELECT v FROM tags WHERE id = 'k'" later
    lost earlier
}

row_of_a_rebuilt_table_stays_its_own() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x')"
    sql a "ALTER TABLE t ADD COLUMN n TEXT; INSERT INTO t VALUES('2', 'of a', 'a')"
    sync a
    find cloud -type f -exec touch -d '3 days ago' {} +
    snapsync prune a.db --keep-last 1
    later b "INSERT INTO t VALUES('2', 'of b'); CREATE TABLE new(id TEXT PRIMARY KEY, v TEXT, n TEXT); INSERT INTO new SELECT *, 'b' FROM t; DROP TABLE t; ALTER TABLE new RENAME TO t"
    sync b a b
    all "SELECT v, n FROM t WHERE id = '2'" "of b|b"
    lost '"of a" lost'
    lost '"a" lost'
}

value_in_a_column_that_the_device_gets_later_is_kept() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('1', 'x')"
    sql a "ALTER TABLE t ADD COLUMN n TEXT; UPDATE t SET n = 'changed' WHERE id = '1'; INSERT INTO t VALUES('2', 'y', 'inserted')"
    sync a
    ends 78 snapsync sync b.db
    is b "SELECT id FROM t" 1 2
    later b "DELETE FROM t; ALTER TABLE t ADD COLUMN n TEXT"
    sync b a
    all "SELECT count(*) FROM t" 0
    lost changed
    lost inserted
}
