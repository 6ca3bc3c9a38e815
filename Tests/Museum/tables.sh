# What is in the table is read. The application's tables are its own.

damaged_index_doubles_no_rows() {
    local table="CREATE TABLE t(id TEXT NOT NULL, v TEXT); CREATE UNIQUE INDEX i ON t(id)"
    sql b "$table"
    reader "$table; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT printf('k%04d', i), hex(randomblob(100)) FROM n"
    sql b "DROP INDEX i; CREATE UNIQUE INDEX i ON t(id) WHERE id NOT LIKE '%0'"
    printf '%s\n' '.dbconfig defensive off' "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE UNIQUE INDEX i ON t(id)' WHERE name = 'i';" | sqlite3 b.db >told
    sql a "UPDATE t SET v = 'edited' WHERE id IN ('k0010', 'k0011')"
    sync a
    ends 65 snapsync sync b.db
    is b "SELECT count(*), count(DISTINCT id) FROM t NOT INDEXED" "3000|3000"
    sql b "REINDEX"
    sync b
    is b "SELECT id FROM t WHERE v = 'edited' ORDER BY id" k0010 k0011
}

trigger_may_delete_what_is_inserted() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x')"
    sql a "CREATE TRIGGER drops AFTER INSERT ON t WHEN NEW.v = 'drop' BEGIN DELETE FROM t WHERE id = NEW.id; END"
    sql a "INSERT INTO t VALUES('2', 'drop'), ('3', 'keep'); REPLACE INTO t VALUES('1', 'drop')"
    sync a b
    all "SELECT id FROM t" 3
    snapsync check a.db --local
}

own_required_column_keeps_its_value() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, w TEXT); INSERT INTO t VALUES('1', 'x', 'y')"
    sql b "CREATE TABLE new(id TEXT PRIMARY KEY, v TEXT, w TEXT, own TEXT NOT NULL DEFAULT 'none'); INSERT INTO new SELECT *, 'mine' FROM t; DROP TABLE t; ALTER TABLE new RENAME TO t"
    sql a "UPDATE t SET v = 'of a'"
    later b "UPDATE t SET w = 'of b'"
    sync a b a
    is b "SELECT v, w, own FROM t" "of a|of b|mine"
    is a "SELECT v, w FROM t" "of a|of b"
}

first_edit_may_be_forbidden() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x'), ('2', 'y')"
    sql a "CREATE TABLE pins(t TEXT REFERENCES t(id)); INSERT INTO pins VALUES('1')"
    sql b "DELETE FROM t WHERE id = '1'; UPDATE t SET v = 'edited' WHERE id = '2'"
    sync b a b
    all "SELECT * FROM t" "1|x" "2|edited"
    lost "a deletion"
}
