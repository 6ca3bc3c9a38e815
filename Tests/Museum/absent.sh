# A device that joins or was away takes nothing from the others.

defaults_of_a_new_peer_overwrite_nothing() {
    local id
    for id in 0 z; do
        rm -rf ./*
        for name in a b; do sql $name "CREATE TABLE breed(id TEXT PRIMARY KEY, name TEXT UNIQUE); CREATE TABLE bird(id TEXT PRIMARY KEY, breed TEXT REFERENCES breed(id))"; done
        sql a "INSERT INTO breed VALUES('m', 'Leghorn'); INSERT INTO bird VALUES('mine', 'm')"
        later b "INSERT INTO breed VALUES('$id', 'Leghorn')"
        snapsync init a.db cloud --peers --name a
        sync a
        join b --peer
        sync a
        all "SELECT breed.id, bird.id FROM breed JOIN bird ON breed = breed.id" "m|mine"
        all "SELECT count(*) FROM breed" 1
    done
}

unique_value_of_a_peer_takes_no_rows() {
    peers "CREATE TABLE p(id TEXT PRIMARY KEY, mail TEXT UNIQUE); CREATE TABLE o(id TEXT PRIMARY KEY, p TEXT NOT NULL REFERENCES p(id))"
    sql a "INSERT INTO p VALUES('ann', 'ann@x'); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO o SELECT i, 'ann' FROM n"
    sync a
    later b "INSERT INTO p VALUES('new', 'ann@x')"
    sync b b a
    all "SELECT id, (SELECT count(*) FROM o) FROM p" "ann|30"
    rm b.db*
    sql a "DELETE FROM o; DELETE FROM p"
    snapsync sync a.db --allow-shrink o,p --quiet
    is a "SELECT id FROM p" new
}
