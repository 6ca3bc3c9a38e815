# Text from outside is bytes.
mark=$(printf '\xcc\x81')

folder_runs_no_command() {
    mkdir "it'$mark; touch ran; '"
    sql "it'$mark; touch ran; '/a" "CREATE TABLE t(id TEXT PRIMARY KEY)"
    snapsync init "it'$mark; touch ran; '/a.db" cloud --name a
    snapsync service cron "it'$mark; touch ran; '/a.db" --every 15m | cut -d' ' -f6- | sed 's/\\%/%/g' >cron
    sh cron
    [ ! -e ran ]
}

table_runs_no_command() {
    local table="x'$mark;touch ran;'y"
    sql a "CREATE TABLE \"$table\"(id TEXT PRIMARY KEY); INSERT INTO \"$table\" VALUES(NULL); CREATE TABLE t(id TEXT PRIMARY KEY)"
    ends 78 snapsync init a.db cloud
    sed -n 's/.*--exclude/echo --exclude/p' told >hint
    grep -q touch hint
    sh hint
    [ ! -e ran ]
}

column_of_the_zone_runs_no_sql() {
    sql a "CREATE TABLE t(id TEXT PRIMARY KEY, COL TEXT); INSERT INTO t VALUES('1', 'x')"
    snapsync init a.db cloud
    sync a
    python3 - <<'PYTHON'
import glob, hashlib, json
path = glob.glob("cloud/private/main/commits/*1.json")[0]
commit = json.load(open(path))["commit"]
for record in commit["saved"]:
    for field in record["fields"].values():
        if isinstance(field["value"], str): field["value"] = field["value"].replace('"COL"', json.dumps('x"\u0301); DROP TABLE own; COMMIT; --', ensure_ascii=False))
body = json.dumps(commit, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
open(path, "w").write('{"commit":' + body + ',"sha256":"' + hashlib.sha256(body.encode()).hexdigest() + '"}')
PYTHON
    grep -q 'DROP TABLE' cloud/private/main/commits/*
    sql b "CREATE TABLE own(v); INSERT INTO own VALUES('mine')"
    snapsync join b.db cloud || true
    is b "SELECT v FROM own" mine
}
