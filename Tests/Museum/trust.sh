# A location is anybody's.

request_replaces_no_report() {
    sql a "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT)"
    SNAPSYNC_KEY_FILE=$PWD/keys snapsync init a.db cloud --sign --name a
    SNAPSYNC_KEY_FILE=$PWD/keys sync a
    cp cloud/private/main/devices/a/*1.json report
    SNAPSYNC_KEY_FILE=$PWD/others snapsync join b.db cloud --name a --take-over || true
    cmp report cloud/private/main/devices/a/*1.json
}

number_beyond_all_stops_nobody() {
    peers "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'x')"
    local folder
    for folder in commits devices/a devices/b messages/b; do
        mkdir -p cloud/private/main/$folder
        echo '{}' >cloud/private/main/$folder/09223372036854775807.json
    done
    sql a "UPDATE t SET v = 'y'"
    sync a b
    sql b "UPDATE t SET v = 'z'"
    sync b a
    all "SELECT v FROM t" z
    join c
}

keys_change_at_another_path() {
    export SNAPSYNC_KEY_FILE=$PWD/keys
    sql a "CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT)"
    snapsync init a.db cloud --encrypt --name a
    sync a
    mv cloud moved
    snapsync zone rotate-keys a.db --location moved
    snapsync sync a.db --location moved
}
