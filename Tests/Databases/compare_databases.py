import sqlite3,sys,struct
a=sqlite3.connect(sys.argv[1]); b=sqlite3.connect(sys.argv[2]); skip=set(filter(None,sys.argv[3].split(',')))
def exact(v): return ('r',struct.pack('>d',v)) if isinstance(v,float) else (type(v).__name__,v)
def q(n): return '"'+n.replace('"','""')+'"'
virt={r[1] for r in a.execute("PRAGMA table_list") if r[2] in('virtual','shadow','view')}
tabs=[r[0] for r in a.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'snapsync_%'") if r[0] not in skip|virt]
bad=0
for t in tabs:
    ca=[r for r in a.execute(f"PRAGMA table_xinfo({q(t)})") if r[6]==0]; cb=[r for r in b.execute(f"PRAGMA table_xinfo({q(t)})")]
    if [(r[1],r[3],r[5]) for r in ca]!=[(r[1],r[3],r[5]) for r in cb]: print(t,'COLUMNS',ca,cb); bad+=1; continue
    cols=','.join(q(r[1]) for r in ca)
    ra=sorted(repr([exact(v) for v in r]) for r in a.execute(f"SELECT {cols} FROM {q(t)}")); rb=sorted(repr([exact(v) for v in r]) for r in b.execute(f"SELECT {cols} FROM {q(t)}"))
    if ra!=rb: print(t,'ROWS',len(ra),len(rb), next((x,y) for x,y in zip(ra+[None],rb+[None]) if x!=y)); bad+=1
    fk=lambda d:sorted(r[2:7] for r in d.execute(f"PRAGMA foreign_key_list({q(t)})"))
    if [(r[0].lower(),r[1],r[3],r[4]) for r in fk(a)]!=[(r[0].lower(),r[1],r[3],r[4]) for r in fk(b)]: print(t,'FK',fk(a),fk(b)); bad+=1
    def uq(d): return sorted(tuple((x[2],x[4]) for x in d.execute(f"PRAGMA index_xinfo({q(i[1])})") if x[5]) for i in d.execute(f"PRAGMA index_list({q(t)})") if i[2] and not i[4])
    if uq(a)!=uq(b): print(t,'UNIQUE',uq(a),uq(b)); bad+=1
print(sys.argv[1], 'tables',len(tabs),'rows',sum(a.execute(f'SELECT count(*) FROM {q(t)}').fetchone()[0] for t in tabs),'BAD' if bad else 'same', b.execute('PRAGMA integrity_check').fetchone()[0], len(b.execute('PRAGMA foreign_key_check').fetchall()))
