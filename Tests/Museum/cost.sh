# Loops end, and cost grows with the work.

tables_cost_what_they_are() {
    local count
    for count in 50 200; do
        for ((i = 0; i < count; i++)); do echo "CREATE TABLE t$i(id TEXT PRIMARY KEY, a TEXT UNIQUE, b INTEGER); INSERT INTO t$i VALUES('x', 'y', 1);"; done | sqlite3 $count.db
        TIMEFORMAT=%U
        { time snapsync init $count.db cloud$count; } 2>$count.seconds
        { time snapsync check $count.db; } 2>>$count.seconds
    done
    paste 50.seconds 200.seconds | awk '$1 > 0 && $2 > 8 * $1 { print; exit 1 }'
}
