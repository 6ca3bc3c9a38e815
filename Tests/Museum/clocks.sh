# An edit is later than what it replaces.

slow_clock_can_undo() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x')"
    ahead sql a "UPDATE t SET v = 'y'"
    ahead sync a
    sql b "INSERT INTO t VALUES('2', 'not published')"
    snapsync restore b.db 1
    is b "SELECT v FROM t" x
    snapsync undo b.db
    sync b a
    all "SELECT v FROM t ORDER BY id" y 'not published'
}
