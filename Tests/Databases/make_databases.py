import sqlite3, json, os, random, sys, time
R=random.Random(7)
def db(name, schema):
    for e in ('','-wal','-shm','-journal'):
        try: os.remove(name+e)
        except FileNotFoundError: pass
    c=sqlite3.connect(name); c.execute('PRAGMA foreign_keys=ON'); c.executescript(schema); return c
W='amber birch cedar delta ember fjord grove heath inlet jetty knoll larch maple north oasis prism quartz ridge stone thorn'.split()
def w(n=2): return ' '.join(R.choice(W) for _ in range(n)).title()

# 1 music shop: eleven tables, composite key, self reference, NUMERIC money, NVARCHAR
c=db('music.db','''
CREATE TABLE performers(performer_id INTEGER PRIMARY KEY NOT NULL, name NVARCHAR(120));
CREATE TABLE records(record_id INTEGER PRIMARY KEY, title NVARCHAR(160) NOT NULL, performer_id INTEGER NOT NULL REFERENCES performers(performer_id) ON DELETE NO ACTION);
CREATE TABLE staff(staff_id INTEGER PRIMARY KEY AUTOINCREMENT, surname NVARCHAR(20) NOT NULL, boss INTEGER REFERENCES staff(staff_id), born DATETIME, hired DATETIME, email NVARCHAR(60) COLLATE NOCASE UNIQUE);
CREATE TABLE clients(client_id INTEGER PRIMARY KEY, name NVARCHAR(40) NOT NULL, country NVARCHAR(40), rep INTEGER REFERENCES staff(staff_id) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE bills(bill_id INTEGER PRIMARY KEY, client_id INTEGER NOT NULL REFERENCES clients(client_id), billed DATETIME NOT NULL, total NUMERIC(10,2) NOT NULL);
CREATE TABLE formats(format_id INTEGER PRIMARY KEY, name NVARCHAR(120));
CREATE TABLE styles(style_id INTEGER PRIMARY KEY, name NVARCHAR(120));
CREATE TABLE songs(song_id INTEGER PRIMARY KEY, name NVARCHAR(200) NOT NULL, record_id INTEGER REFERENCES records, format_id INTEGER NOT NULL REFERENCES formats, style_id INTEGER REFERENCES styles, ms INTEGER NOT NULL, price NUMERIC(10,2) NOT NULL);
CREATE TABLE bill_lines(line_id INTEGER PRIMARY KEY, bill_id INTEGER NOT NULL REFERENCES bills, song_id INTEGER NOT NULL REFERENCES songs, price NUMERIC(10,2) NOT NULL, count INTEGER NOT NULL);
CREATE TABLE lists(list_id INTEGER PRIMARY KEY, name NVARCHAR(120));
CREATE TABLE list_song(list_id INTEGER NOT NULL REFERENCES lists ON DELETE CASCADE, song_id INTEGER NOT NULL REFERENCES songs, PRIMARY KEY(list_id, song_id));
CREATE INDEX song_record ON songs(record_id); CREATE UNIQUE INDEX style_name ON styles(name);
''')
for i in range(1,41): c.execute('INSERT INTO performers VALUES(?,?)',(i,w()))
for i in range(1,61): c.execute('INSERT INTO records VALUES(?,?,?)',(i,w(3),R.randint(1,40)))
for i in range(1,9): c.execute('INSERT INTO staff(surname,boss,born,hired,email) VALUES(?,?,?,?,?)',(w(1),None if i==1 else R.randint(1,i-1),'1970-02-18 00:00:00','2004-03-04 00:00:00',f'{i}@shop'))
for i in range(1,31): c.execute('INSERT INTO clients VALUES(?,?,?,?)',(i,w(),R.choice([None,'FI','NO']),R.choice([None]+list(range(1,9)))))
for i in range(1,6): c.execute('INSERT INTO formats VALUES(?,?)',(i,w(1))); c.execute('INSERT INTO styles VALUES(?,?)',(i,f'style {i}'))
for i in range(1,301): c.execute('INSERT INTO songs VALUES(?,?,?,?,?,?,?)',(i,w(4),R.choice([None]+list(range(1,61))),R.randint(1,5),R.choice([None,1,2,3]),R.randint(1000,400000),R.choice([0.99,1.99,1])))
for i in range(1,81): c.execute('INSERT INTO bills VALUES(?,?,?,?)',(i,R.randint(1,30),f'2025-0{R.randint(1,9)}-1{R.randint(0,9)} 00:00:00',R.choice([1.98,3.96,5])))
for i in range(1,201): c.execute('INSERT INTO bill_lines VALUES(?,?,?,?,?)',(i,R.randint(1,80),R.randint(1,300),0.99,1))
for i in range(1,6): c.execute('INSERT INTO lists VALUES(?,?)',(i,w()))
for i in range(1,6):
    for s in R.sample(range(1,301),40): c.execute('INSERT INTO list_song VALUES(?,?)',(i,s))
c.commit()

# 2 blog made by a web framework: sessions with text key, json, decimals, bools, datetime(6), m2m with unique pair
c=db('blog.db','''
CREATE TABLE "web_user"("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL, "last_login" datetime NULL, "is_admin" bool NOT NULL, "login" varchar(150) NOT NULL UNIQUE, "joined" datetime NOT NULL);
CREATE TABLE "web_team"("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
CREATE TABLE "web_user_teams"("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "user_id" integer NOT NULL REFERENCES "web_user"("id") DEFERRABLE INITIALLY DEFERRED, "team_id" integer NOT NULL REFERENCES "web_team"("id") DEFERRABLE INITIALLY DEFERRED);
CREATE UNIQUE INDEX "user_team_uniq" ON "web_user_teams"("user_id","team_id");
CREATE TABLE "web_session"("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL, "expires" datetime NOT NULL);
CREATE TABLE "blog_post"("id" char(32) NOT NULL PRIMARY KEY, "title" varchar(200) NOT NULL, "slug" varchar(50) NOT NULL UNIQUE, "body" text NOT NULL, "meta" text NOT NULL CHECK((JSON_VALID("meta") OR "meta" IS NULL)), "extra" JSON, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "published" bool NOT NULL, "rating" decimal NULL, "cover" BLOB NULL, "author_id" integer NOT NULL REFERENCES "web_user"("id") DEFERRABLE INITIALLY DEFERRED, "words" integer GENERATED ALWAYS AS (length("body")) VIRTUAL);
CREATE TABLE "blog_comment"("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "text" text NOT NULL, "created" datetime NOT NULL, "post_id" char(32) NOT NULL REFERENCES "blog_post"("id") ON DELETE CASCADE, "parent_id" bigint NULL REFERENCES "blog_comment"("id"));
CREATE TABLE "web_migrations"("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL, "applied" datetime NOT NULL);
CREATE VIEW recent AS SELECT * FROM blog_post;
''')
for i in range(1,11): c.execute('INSERT INTO web_user(password,last_login,is_admin,login,joined) VALUES(?,?,?,?,?)',(w(1),None if i%2 else '2026-01-02 10:00:00.123456',i==1,f'user{i}','2024-01-01 00:00:00'))
for i in range(1,4): c.execute('INSERT INTO web_team(name) VALUES(?)',(f't{i}',))
for i in range(1,11): c.execute('INSERT INTO web_user_teams(user_id,team_id) VALUES(?,?)',(i,i%3+1))
for i in range(30): c.execute('INSERT INTO web_session VALUES(?,?,?)',(os.urandom(16).hex(),w(9),'2026-01-02 10:00:00'))
posts=[]
for i in range(40):
    p=f'{R.getrandbits(128):032x}'; posts.append(p)
    c.execute('INSERT INTO blog_post(id,title,slug,body,meta,extra,created_at,updated_at,published,rating,cover,author_id) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)',(p,w(3),f's-{i}',w(50),json.dumps({'a':i}),R.choice([None,'{"x": [1, 2.50]}','[]']),'2025-01-01T00:00:00Z',f'2025-03-{i%28+1:02}T10:00:00Z',i%2,R.choice([None,4.5,3]),R.choice([None,os.urandom(20)]),R.randint(1,10)))
for i in range(1,101): c.execute('INSERT INTO blog_comment(text,created,post_id,parent_id) VALUES(?,?,?,?)',(w(10),'2025-02-02 01:01:01',R.choice(posts),None if i<10 else R.choice([None,R.randint(1,i-1)])))
c.execute("INSERT INTO web_migrations(app,applied) VALUES('blog','2024-01-01 00:00:00')"); c.commit()

# 3 library with triggers and FTS5
c=db('library.db','''
CREATE TABLE volumes(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT 'Unknown' COLLATE NOCASE, sort TEXT COLLATE NOCASE, added TIMESTAMP DEFAULT CURRENT_TIMESTAMP, published TIMESTAMP, series_index REAL NOT NULL DEFAULT 1.0, uuid TEXT, has_cover BOOL DEFAULT 0, last_modified TIMESTAMP NOT NULL DEFAULT '2000-01-01 00:00:00+00:00');
CREATE TABLE writers(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, sort TEXT COLLATE NOCASE, UNIQUE(name));
CREATE TABLE volumes_writers(id INTEGER PRIMARY KEY, volume INTEGER NOT NULL, writer INTEGER NOT NULL, UNIQUE(volume, writer));
CREATE TABLE files(id INTEGER PRIMARY KEY, volume INTEGER NOT NULL, format TEXT NOT NULL COLLATE NOCASE, bytes INTEGER NOT NULL, UNIQUE(volume, format));
CREATE TABLE preferences(id INTEGER PRIMARY KEY, key TEXT NOT NULL, val TEXT NOT NULL, UNIQUE(key));
CREATE VIRTUAL TABLE search USING fts5(title, content='volumes', content_rowid='id');
CREATE TRIGGER volumes_ai AFTER INSERT ON volumes BEGIN INSERT INTO search(rowid, title) VALUES(NEW.id, NEW.title); END;
CREATE TRIGGER volumes_ad AFTER DELETE ON volumes BEGIN DELETE FROM volumes_writers WHERE volume=OLD.id; DELETE FROM files WHERE volume=OLD.id; INSERT INTO search(search, rowid, title) VALUES('delete', OLD.id, OLD.title); END;
CREATE TRIGGER volumes_au AFTER UPDATE OF title ON volumes BEGIN INSERT INTO search(search, rowid, title) VALUES('delete', OLD.id, OLD.title); INSERT INTO search(rowid, title) VALUES(NEW.id, NEW.title); END;
''')
for i in range(1,51): c.execute('INSERT INTO volumes(title,sort,added,published,series_index,uuid,has_cover,last_modified) VALUES(?,?,?,?,?,?,?,?)',(w(3),w(3),'2025-01-01 00:00:00+00:00',None,i/2,f'u{i}',i%2,'2025-05-05T10:00:00+00:00'))
for i in range(1,21): c.execute('INSERT INTO writers VALUES(?,?,?)',(i,f'Writer {i}',w()))
for i in range(1,51): c.execute('INSERT INTO volumes_writers VALUES(?,?,?)',(i,i,i%20+1)); c.execute('INSERT INTO files VALUES(?,?,?,?)',(i,i,'EPUB',R.randint(1,10**9)))
c.execute("INSERT INTO preferences VALUES(1,'lang','en')"); c.commit()

# 4 home automation recorder: real timestamps, BLOB ids, FK chains, last_updated_ts
c=db('home.db','''
CREATE TABLE kinds(kind_id INTEGER NOT NULL, name VARCHAR(64), PRIMARY KEY(kind_id));
CREATE TABLE attributes(attributes_id INTEGER NOT NULL, hash BIGINT, shared TEXT, PRIMARY KEY(attributes_id));
CREATE TABLE things(thing_id INTEGER NOT NULL, entity VARCHAR(255), PRIMARY KEY(thing_id));
CREATE UNIQUE INDEX ix_things ON things(entity);
CREATE TABLE states(state_id INTEGER NOT NULL, state VARCHAR(255), last_changed DATETIME, last_changed_ts FLOAT, last_updated DATETIME, last_updated_ts FLOAT, old_state_id INTEGER, attributes_id INTEGER, context BLOB, thing_id INTEGER, PRIMARY KEY(state_id), FOREIGN KEY(old_state_id) REFERENCES states(state_id), FOREIGN KEY(attributes_id) REFERENCES attributes(attributes_id), FOREIGN KEY(thing_id) REFERENCES things(thing_id));
CREATE TABLE runs(run_id INTEGER NOT NULL, start DATETIME NOT NULL, "end" DATETIME, closed_incorrect BOOLEAN NOT NULL, created DATETIME NOT NULL, PRIMARY KEY(run_id));
CREATE TABLE stats(id INTEGER NOT NULL, created_ts FLOAT, start_ts FLOAT, mean FLOAT, minimum FLOAT, sum FLOAT, thing_id INTEGER, PRIMARY KEY(id), FOREIGN KEY(thing_id) REFERENCES things(thing_id) ON DELETE CASCADE);
CREATE UNIQUE INDEX ix_stats ON stats(thing_id, start_ts);
''')
for i in range(1,5): c.execute('INSERT INTO kinds VALUES(?,?)',(i,w()))
for i in range(1,31): c.execute('INSERT INTO attributes VALUES(?,?,?)',(i,R.getrandbits(62),json.dumps({'u':i}))); c.execute('INSERT INTO things VALUES(?,?)',(i,f'sensor.{i}'))
for i in range(1,501): c.execute('INSERT INTO states VALUES(?,?,NULL,?,NULL,?,?,?,?,?)',(i,str(i*0.5),None if i%3 else 1.7e9+i/7,1.7e9+i/7,None if i<31 else i-30,R.randint(1,30),R.getrandbits(128).to_bytes(16,'big'),R.randint(1,30)))
c.execute("INSERT INTO runs VALUES(1,'2025-01-01 00:00:00',NULL,0,'2025-01-01 00:00:00')")
for i in range(1,101): c.execute('INSERT INTO stats VALUES(?,?,?,?,?,?,?)',(i,1.7e9+i,1.7e9+i*300,i/3,i/5,float(i),i%30+1))
c.commit()

# 5 flash cards: millisecond ids, mod in seconds, JSON in text, WITHOUT ROWID, a flags column, sort field of any type
c=db('cards.db','''
CREATE TABLE meta(id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL, scm integer NOT NULL, conf text NOT NULL);
CREATE TABLE facts(id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL, mod integer NOT NULL, usn integer NOT NULL, tags text NOT NULL, flds text NOT NULL, sfld integer NOT NULL, csum integer NOT NULL, data text NOT NULL);
CREATE TABLE cards(id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL, mod integer NOT NULL, due integer NOT NULL, ivl integer NOT NULL, data text NOT NULL);
CREATE TABLE reviews(id integer PRIMARY KEY, cid integer NOT NULL, ease integer NOT NULL, time integer NOT NULL);
CREATE TABLE graves(usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL);
CREATE TABLE config(KEY text NOT NULL PRIMARY KEY, usn integer NOT NULL, mtime_secs integer NOT NULL, val blob NOT NULL) WITHOUT ROWID;
CREATE TABLE fields(ntid integer NOT NULL, ord integer NOT NULL, name text NOT NULL COLLATE NOCASE, config blob NOT NULL, PRIMARY KEY(ntid, ord)) WITHOUT ROWID;
''')
c.execute("INSERT INTO meta VALUES(1,1600000000,1700000000123,5,'{}')")
T=1700000000000
for i in range(200):
    c.execute('INSERT INTO facts VALUES(?,?,?,?,?,?,?,?,?,?)',(T+i*13,w(1)+str(i),1,1700000000+i,-1,'',w(2)+'\x1f'+w(2),R.choice([i,w(1),f'{i:04}x']),R.getrandbits(32),''))
    c.execute('INSERT INTO cards VALUES(?,?,?,?,?,?,?)',(T+i*13+1,T+i*13,1,1700000000+i,i,i,'{}'))
    c.execute('INSERT INTO reviews VALUES(?,?,?,?)',(T+i*17+2,T+i*13+1,R.randint(1,4),R.randint(100,9000)))
for i in range(5): c.execute('INSERT INTO graves VALUES(?,?,?)',(-1,T+i,1)); c.execute('INSERT INTO config VALUES(?,?,?,?)',(f'k{i}',0,1700000000,json.dumps(i).encode())); c.execute('INSERT INTO fields VALUES(?,?,?,?)',(1,i,f'f{i}',b'\x08\x01'))
c.commit()

# 6 browser history: microsecond integers, any-typed meta, UNIQUE guid, a table without key
c=db('history.db','''
CREATE TABLE places(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR, visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, last_visit_date INTEGER, guid TEXT, origin_id INTEGER REFERENCES origins(id));
CREATE UNIQUE INDEX places_guid ON places(guid);
CREATE TABLE visits(id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER, visit_type INTEGER);
CREATE TABLE origins(id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL, frecency INTEGER NOT NULL, UNIQUE(prefix, host));
CREATE TABLE marks(id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL, parent INTEGER, title LONGVARCHAR, dateAdded INTEGER, lastModified INTEGER, guid TEXT);
CREATE UNIQUE INDEX marks_guid ON marks(guid);
CREATE TABLE meta(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE inputs(place_id INTEGER NOT NULL, input LONGVARCHAR NOT NULL, use_count INTEGER, PRIMARY KEY(place_id, input));
CREATE TABLE hosts(host TEXT NOT NULL, seen REAL);
''')
for i in range(1,11): c.execute('INSERT INTO origins VALUES(?,?,?,?)',(i,'https://',f'h{i}.example',i))
for i in range(1,301):
    c.execute('INSERT INTO places VALUES(?,?,?,?,?,?,?,?,?)',(i,f'https://h{i%10+1}.example/{i}',w(3),'x.',i%7,0,1700000000000000+i,f'g{i:09}',i%10+1))
    c.execute('INSERT INTO visits VALUES(?,?,?,?,?)',(i,None if i<2 else i-1,i,1700000000000000+i*1000,1))
for i in range(1,21): c.execute('INSERT INTO marks VALUES(?,?,?,?,?,?,?,?)',(i,1,i,None if i==1 else 1,w(),1700000000000000,1700000000000000+i,f'm{i}'))
for k,v in (('a',1),('b','two'),('c',3.5),('d',b'\0\1')): c.execute('INSERT INTO meta VALUES(?,?)',(k,v))
for i in range(1,11): c.execute('INSERT INTO inputs VALUES(?,?,?)',(i,w(1),i)); c.execute('INSERT INTO hosts VALUES(?,?)',(f'h{i}',i/3))
c.commit()
