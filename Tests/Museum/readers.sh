# A reader's edit is decided once.

answer_beats_no_later_edit() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, w TEXT); INSERT INTO t VALUES('1', 'x', 'y')"
    sql b "UPDATE t SET v = 'first'"
    sync b a
    later b "UPDATE t SET w = 'second'"
    sync b a b
    all "SELECT v, w FROM t" "first|second"
    lost_only none
}

reader_without_permission_shows_the_version() {
    reader "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT UNIQUE); INSERT INTO t VALUES('1', 'x')"
    printf '%s\n' '.dbconfig enable_trigger off' "INSERT INTO t VALUES('own', 'y');" | sqlite3 b.db >told
    sql a "INSERT INTO t VALUES('2', 'z')"
    sync a b
    all "SELECT id FROM t" 1 2
}

refresh_of_a_reader_makes_no_edits() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x'), ('2', 'y')"
    sql b "CREATE TABLE new(id TEXT PRIMARY KEY, v TEXT); INSERT INTO new SELECT id, 'own' FROM t; DROP TABLE t; ALTER TABLE new RENAME TO t"
    snapsync import b.db --replace --yes
    sync b a b
    all "SELECT v FROM t" x y
}

reader_without_a_version_is_not_damaged() {
    sql a "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT)"
    snapsync init a.db cloud
    sync a
    snapsync join b.db cloud
    ends 66 snapsync check b.db --local
    ! grep -i damage told
}
