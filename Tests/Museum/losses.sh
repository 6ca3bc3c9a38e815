# A loss is kept, whatever it is made of.

odd_value_that_loses_is_kept() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, n INTEGER, j JSON, d BOOLEAN, note TEXT); INSERT INTO t VALUES('k', 1, '{}', 0, 'old')"
    sql b "UPDATE t SET n = 'about 3', j = 'no JSON', d = 2, note = 'of b'"
    later a "UPDATE t SET n = 7, j = '[]', d = 1, note = 'of a'"
    sync a b a
    all "SELECT n, note FROM t" "7|of a"
    for value in 'about 3' 'no JSON' 'd: 2 lost' 'of b'; do lost "$value"; done
    snapsync conflicts take b.db 1
    is b "SELECT n, j, d, note FROM t" "about 3|no JSON|2|of b"
}

journal_outlives_other_values() {
    local type lost kept other
    while read -r type lost kept other; do
        rm -rf ./*
        peers "CREATE TABLE t(id TEXT PRIMARY KEY, v $type); INSERT INTO t VALUES('k', NULL)"
        sql a "UPDATE t SET v = $lost"
        later b "UPDATE t SET v = $kept"
        sync a b a
        sql a "INSERT INTO t VALUES('z', $other)"
        sync a b a
        snapsync conflicts take b.db 1
        is b "SELECT quote(v) FROM t WHERE id = 'k'" "$lost"
    done <<'END'
BLOB X'AABBCC' X'DD' 'text'
JSON '{"lost":1}' '[]' ''
BOOLEAN 1 0 'maybe'
END
}

held_values_come_back() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, j JSON, u TEXT UNIQUE); INSERT INTO t VALUES('b', '[1]', 'u')"
    sql b "INSERT INTO t VALUES('n1', '\"yes\"', 's1'), ('n2', '{\"base64\":\"QUJD\"}', 's2'), ('n3', 'true', 's3')"
    sql a "INSERT INTO t VALUES('m1', '', 's1'), ('m2', '', 's2'), ('m3', '', 's3')"
    sync a b
    all "SELECT id FROM t" b m1 m2 m3
    sql b "UPDATE t SET j = 'no JSON' WHERE id = 'b'"
    sync b a
    sql a "DELETE FROM t WHERE id LIKE 'm%'"
    sync a b
    all "SELECT id, j, typeof(j) FROM t" "b|no JSON|text" 'n1|"yes"|text' 'n2|{"base64":"QUJD"}|text' "n3|true|text"
}

odd_value_stops_no_import() {
    local table="CREATE TABLE t(id TEXT PRIMARY KEY, n INTEGER, u TEXT UNIQUE)"
    peers "$table; INSERT INTO t VALUES('a', 1, 'ua')"
    sql b "INSERT INTO t VALUES('n2', 'about 3', 'same')"
    sql a "INSERT INTO t VALUES('n1', 3, 'same')"
    sync a b
    sql c "$table; INSERT INTO t VALUES('a', 'about 5', 'ua')"
    join c --peer
    all "SELECT id, n FROM t" "a|1" "n1|3"
}

replace_on_a_reader_is_kept() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('k', 'old')"
    sql a "UPDATE t SET v = 'of the writer'"
    sync a
    later b "REPLACE INTO t VALUES('k', 'of the reader')"
    sync b a b
    all "SELECT v FROM t" "of the reader"
    lost "of the writer"
}

row_of_a_reader_that_returns_hides_none() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, u TEXT UNIQUE)"
    sql a "INSERT INTO t VALUES('k', 'of the writer', 'y'), ('z', 'other', 'x')"
    later b "INSERT INTO t VALUES('k', 'of the reader', 'x')"
    sync a b a b
    sql a "DELETE FROM t WHERE id = 'z'"
    sync a b a b
    [ "$(sql a 'SELECT v FROM t')" = "of the writer" ] || lost "of the writer"
    [ "$(sql a 'SELECT v FROM t')" = "of the reader" ] || lost "of the reader"
    all "SELECT v FROM t" "$(sql a 'SELECT v FROM t')"
}

second_edit_of_a_reader_hides_none() {
    local first second
    for second in "DELETE FROM t" "UPDATE t SET v = 'again of the reader'"; do
        for first in INSERT UPDATE; do
            rm -rf ./*
            editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t SELECT 'k', 'old' WHERE '$first' = 'UPDATE'"
            sql b "INSERT INTO t VALUES('k', 'of the reader') ON CONFLICT DO UPDATE SET v = excluded.v"
            sync b
            later a "INSERT INTO t VALUES('k', 'of the writer') ON CONFLICT DO UPDATE SET v = excluded.v"
            later b "$second"
            sync a b a b
            all "SELECT v FROM t" "$(sql a 'SELECT v FROM t')"
            [ "$(sql a 'SELECT v FROM t')" = "of the writer" ] || lost '"of the writer" lost'
            lost '"of the reader" lost'
        done
    done
}

waiting_edit_is_no_loss() {
    editor "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, u TEXT UNIQUE); INSERT INTO t VALUES('k', 'old', 'x')"
    sql a "UPDATE t SET v = 'of the writer'"
    sync a
    later b "UPDATE t SET v = 'of the reader'; INSERT INTO t VALUES('n', 'new', 'y'), ('m', 'new', 'z')"
    sql a "INSERT INTO t VALUES('o', 'other', 'y')"
    sync a b a b
    lost "of the writer"
    for name in a b a b; do snapsync sync $name.db; done >told 2>&1
    ! grep lost told
    all "SELECT id FROM t" k m o
}

tie_is_no_reason_for_silence() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('k', 'old')"
    join c --peer
    ahead sql a "UPDATE t SET v = 'an hour ahead'"
    ahead sync a
    sync b c
    sql b "UPDATE t SET v = 'of b'"
    sql c "UPDATE t SET v = 'of c'"
    sync b c a b
    all "SELECT v FROM t" "of b"
    lost "of c"
    lost_only "of c"
}

row_that_two_devices_hold_is_one() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT, u TEXT); CREATE UNIQUE INDEX i ON t(lower(u))"
    sql b "CREATE UNIQUE INDEX IF NOT EXISTS i ON t(lower(u))"
    join c --peer
    sql c "CREATE UNIQUE INDEX IF NOT EXISTS i ON t(lower(u)); INSERT INTO t VALUES('x', 'first', 'same')"
    sql a "INSERT INTO t VALUES('n', 'of a', 'Same')"
    later b "INSERT INTO t VALUES('n', 'of b', 'SAME')"
    sync c a b c a
    all "SELECT id FROM t" x
    lost "of a"
    sql c "DELETE FROM t"
    sync c a b
    all "SELECT v FROM t" "of b"
}
