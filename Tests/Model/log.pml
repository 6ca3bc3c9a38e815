/* The log of docs/cloud-directory.md: two publishers that race, are killed and prune, and a reader that sends two edits in messages.
 *
 * A file operation is one atomic step. Everything between two operations can interleave with every other process. A commit is one number for its
 * content: `what` has two bits for each edit (how often it was applied), `answered` the number of the reader's last decided edit.
 * `truth` and `newest` are known to the checks only. Bounds: NUMBERS commits, KILLS kills, PRUNES prunes.
 */
#ifndef NUMBERS
#define NUMBERS 5
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef PRUNES
#define PRUNES 1
#endif
#define LAST (NUMBERS + 1)

byte commit[LAST + 1], parent[LAST + 1], named[LAST], what[LAST], answered[LAST];   /* the files commits/N: a nonce, 0 if there is none */
byte point[LAST], pointWhat[LAST], pointAnswered[LAST];                     /* the files checkpoints/N: the nonce of their commit */
byte truth[LAST], newest = 0, nonces = 0, kills = KILLS, prunes = PRUNES;
bool mail[3];                   /* the reader's files: 1 has edit 1, 2 has both edits */
bool mailSecondAlone;           /* file 2 has edit 2 alone, because edit 1 was answered before */

/* Each kept version can be read by a device that comes for the first time, and each edit that is answered has its effect exactly once. */
inline check() {
    if
    :: newest > 0 ->
        assert(commit[newest] == truth[newest]);
        assert(named[newest] == 0 || point[named[newest]] == truth[named[newest]]);
        for (i : named[newest] + 1 .. newest) { assert(commit[i] == truth[i]); assert(i == 1 || parent[i] == truth[i - 1]) }
        assert(((what[newest] & 3) == 1) == (answered[newest] >= 1));
        assert((((what[newest] >> 2) & 3) == 1) == (answered[newest] == 2))
    :: else
    fi;
    i = 0
}

/* Reads the log from the token on: one more commit, or none. A token that is gone is told, and the log is read from the checkpoint on. */
inline catchUp(me) {
    d_step { next = (token < NUMBERS -> commit[token + 1] : 0); seen = newest;
        if :: next -> nextParent = parent[token + 1]; nextWhat = what[token + 1]; nextAnswered = answered[token + 1]; nextNamed = named[token + 1] :: else fi };
    atomic {
        if
        :: token == 0 && seen > 0 || token > 0 && commit[token] != tokenIs -> forget(); goto first      /* pruned, and told */
        :: else ->
            if
            :: next == 0 -> assert(seen == token); forget()     /* nothing new: then there was nothing */
            :: else ->
                assert(token == 0 || nextParent == tokenIs);
                token++; tokenIs = next; have = nextWhat; decided = nextAnswered; counts = nextNamed;
                assert(tokenIs == truth[token]); forget();
                goto again
            fi
        fi
    }
}

inline forget() { next = 0; nextParent = 0; nextWhat = 0; nextAnswered = 0; nextNamed = 0; seen = 0; mine = 0; make = 0; decide = 0; from = 0; top = 0; begin = 0 }

/* A first visit, or a token that is gone: the newest commit names the checkpoint; every link from there on is read. */
inline firstVisit(me) {
    d_step { top = 0; for (i : 1 .. NUMBERS) { if :: commit[i] -> top = i :: else fi }; i = 0; begin = named[top] };
    atomic {
        if
        :: begin > 0 && point[begin] == 0 -> forget(); goto first       /* a prune is running: list again */
        :: else -> token = begin; tokenIs = (begin > 0 -> point[begin] : 0); have = (begin > 0 -> pointWhat[begin] : 0);
            decided = (begin > 0 -> pointAnswered[begin] : 0); begin = 0
        fi
    };
    do
    :: atomic { token < top ->
        if
        :: commit[token + 1] == 0 || token > 0 && parent[token + 1] != tokenIs -> forget(); goto first
        :: else -> token++; tokenIs = commit[token]; have = what[token]; decided = answered[token]; counts = named[token]; assert(tokenIs == truth[token])
        fi }
    :: else -> break
    od;
    top = 0
}

/* Puts a commit under the next number if that is free; then the parent must still be in place. */
inline put(me) {
    d_step {
        if
        :: token < NUMBERS && commit[token + 1] == 0 && (token > 0 || (newest == 0)) ->
            nonces++; mine = nonces;
            commit[token + 1] = mine; parent[token + 1] = tokenIs; named[token + 1] = counts; what[token + 1] = make; answered[token + 1] = decide;
            if :: token == newest -> newest++; truth[newest] = mine :: else fi
        :: else -> mine = 0
        fi;
        make = 0; decide = 0; check()
    };
    mayBeKilled(me);
    atomic {
    d_step { top = 0; for (i : 1 .. NUMBERS) { if :: commit[i] -> top = i :: else fi }; i = 0 };
    if
    /* The parent is gone. The commit is void if its number was free only because another commit had been pruned: then the log goes on without it.
     * If it is the newest commit, or the next one follows it, the parent was pruned after it. PARENT_ALONE decides by the parent alone. */
#ifdef PARENT_ALONE
    :: mine && token > 0 && commit[token] != tokenIs ->
#else
    :: mine && token > 0 && commit[token] != tokenIs && top > token + 1 && !(commit[token + 2] && parent[token + 2] == mine) ->
#endif
        d_step { assert(truth[token + 1] != mine); top = 0; mine = 0;
            commit[token + 1] = 0; parent[token + 1] = 0; named[token + 1] = 0; what[token + 1] = 0; answered[token + 1] = 0 };
        goto first
    :: else -> mine = 0; top = 0
    fi }
}

inline mayBeKilled(me) {
    if
    :: atomic { kills > 0 -> kills--; forget(); goto again }     /* the token is stored */
    :: true
    fi
}

#define PUBLISHER(me) \
proctype publisher##me() { \
    byte token, tokenIs, have, decided, counts, next, nextParent, nextWhat, nextAnswered, nextNamed, seen, top, begin, mine, make, decide, from, i; \
    goto again; \
first: firstVisit(me); \
again: catchUp(me); \
    if \
    :: token < NUMBERS && (me == 0 || token > 0) -> publish(me); goto again \
    :: atomic { token > 1 && prunes > 0 && token < NUMBERS && counts >= token - 1 -> prunes--; from = token; seen = 1 }; prune(me); goto again \
    :: token == NUMBERS -> skip \
    :: newest > token -> goto again \
    fi \
}

/* A version with what the messages that are found say beyond the answered number. */
inline publish(me) {
    atomic {
        make = have; decide = decided;
        if
        :: mail[1] && decide < 1 -> make = make + 1; decide = 1
        :: mail[2] && decide < 2 -> if :: decide < 1 && !mailSecondAlone -> make = make + 1 :: else fi; make = make + 4; decide = 2
        :: true
        fi
    };
    if      /* a checkpoint of the token's commit, which the commit names */
    :: token > counts -> d_step { if :: point[token] == 0 -> point[token] = tokenIs; pointWhat[token] = have; pointAnswered[token] = decided :: else fi;
            if :: point[token] == tokenIs -> counts = token :: else fi }; mayBeKilled(me)
    :: true
    fi;
    put(me)
}

/* Keeps the token's commit F and what follows. A kept commit names a checkpoint from which F can be read; then all below F goes, oldest first. Without
 * such a checkpoint, the publisher first publishes a commit that names one. */
inline prune(me) {
    do
    :: seen < from ->
        d_step { if :: seen <= named[from] -> commit[seen] = 0; parent[seen] = 0; named[seen] = 0; what[seen] = 0; answered[seen] = 0 :: else fi; check() };
        seen++;
        mayBeKilled(me)
    :: else -> break
    od;
    seen = 1;
    do
    :: seen < named[from] -> d_step { point[seen] = 0; pointWhat[seen] = 0; pointAnswered[seen] = 0; check() }; seen++; mayBeKilled(me)
    :: else -> break
    od;
    seen = 0; from = 0
}

PUBLISHER(0)
PUBLISHER(1)

/* Reads, shows and answers. It writes a file for its first edit and later one with all edits that are not answered; an answered file it removes. */
proctype reader() {
    byte token, tokenIs, have, decided, counts, next, nextParent, nextWhat, nextAnswered, nextNamed, seen, top, begin, mine, make, decide, from, i, sent;
    goto again;
first: firstVisit(2);
again: catchUp(2);
    do
    :: d_step { sent == 0 -> sent = 1; mail[1] = true }
    :: d_step { sent == 1 -> sent = 2; mailSecondAlone = (decided == 1); mail[2] = true }
    :: decided >= 1 && mail[1] -> mail[1] = false
    :: newest > token -> goto again
    :: token == NUMBERS -> break
    od
}

init { atomic { run publisher0(); run publisher1(); run reader() } }
