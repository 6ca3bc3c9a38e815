/* Forks: two publishers, each with its own copy of the folder, and a tool that replicates files in any order. Of two files with one name, one stays
 * under the name and the other becomes a conflict copy. Each publisher makes two edits, and a reader one, which publisher 0 finds in a message and the
 * reader forgets once it is answered. When both copies are equal and both publishers have published everything, the newest version has all edits.
 * OWN_EDITS_ONLY shows why a publisher that leaves a fork takes up all edits of its commits, not just its own.
 *
 * A commit is known by a nonce. `what` and `parent` belong to the nonce, because conflict copies keep the content of every commit.
 */
#ifndef NUMBERS
#define NUMBERS 6
#endif
#define NONCES 14

byte file[16];                  /* the nonce under a plain name: file[copy * 8 + number], numbers from 1 */
byte token[2], is[2], edits[2], made[2];    /* each publisher's version, and all edits that its own data have */
bool mail, answered;            /* the reader has sent its edit; it was in a commit, so the message is gone */
byte what[NONCES], parent[NONCES], height[NONCES], nonces = 0;
#define at(copy, n) file[(copy) * 8 + (n)]

/* The commits that stand in a copy are the newest under a plain name and its ancestors. */
inline repair(copy) {
    d_step {
        top = NUMBERS;
        do :: top > 0 && at(copy, top) == 0 -> top-- :: else -> break od;
        if :: top > 0 -> stands = at(copy, top) :: else -> stands = 0 fi;
        do :: top > 1 -> stands = parent[stands]; top--; at(copy, top) = stands :: else -> break od;
        top = 0; stands = 0
    }
}

proctype publisher(byte me) {
    byte n, top, stands;
    byte history[8];            /* the nonces that it has applied */
    do
    :: d_step { made[me] < 2 -> edits[me] = edits[me] | (1 << (2 * me + made[me])); made[me]++ }
    :: d_step { token[me] < NUMBERS && at(me, token[me]) == is[me] && at(me, token[me] + 1) && parent[at(me, token[me] + 1)] == is[me] ->
            token[me]++; is[me] = at(me, token[me]); history[token[me]] = is[me]; edits[me] = edits[me] | what[is[me]] }
    :: d_step { token[me] < NUMBERS && at(me, token[me]) == is[me] && at(me, token[me] + 1) == 0 && nonces < NONCES - 1 && (me == 0 || token[me] > 0) &&
                ((edits[me] & (31 - what[is[me]])) || me == 0 && mail && !answered) ->
            if :: me == 0 && mail && !answered -> edits[me] = edits[me] | 16; answered = true :: else fi;
            nonces++; parent[nonces] = is[me]; what[nonces] = edits[me]; token[me]++; at(me, token[me]) = nonces; is[me] = nonces; history[token[me]] = nonces }
    :: d_step { token[me] > 0 && at(me, token[me]) != is[me] && at(me, token[me]) ->
            /* Another commit stands: back to the common version. What the commits of this device had is pending again. */
            n = token[me];
            do :: n > 0 && at(me, n) != history[n] -> history[n] = 0; n-- :: else -> break od;
#ifdef OWN_EDITS_ONLY
            edits[me] = what[history[n]] | (edits[me] & (3 << (2 * me)));
#endif
            token[me] = n; is[me] = history[n]; n = 0 }
    :: repair(me)
    od
}

/* Replicates one file at a time. Which of two files keeps the name is arbitrary, but equal on both sides. */
proctype tool() {
    byte n;
    do
    :: mail = true
    :: d_step { n < NUMBERS -> n++ }
    :: d_step { n == NUMBERS -> n = 1 }
    :: d_step { n > 0 && at(0, n) && at(1, n) == 0 -> at(1, n) = at(0, n) }
    :: d_step { n > 0 && at(1, n) && at(0, n) == 0 -> at(0, n) = at(1, n) }
    :: d_step { n > 0 && at(0, n) && at(1, n) && at(0, n) != at(1, n) ->
            if :: (at(0, n) & 1) < (at(1, n) & 1) || (at(0, n) & 1) == (at(1, n) & 1) && at(0, n) < at(1, n) -> at(1, n) = at(0, n) :: else -> at(0, n) = at(1, n) fi }
    od
}

#define same(n) (at(0, n) == at(1, n))
#define settled (same(1) && same(2) && same(3) && same(4) && same(5) && same(6) && answered && made[0] == 2 && made[1] == 2 && is[0] && is[0] == is[1] && \
    at(0, token[0]) == is[0] && at(0, token[0] + 1) == 0 && edits[0] == what[is[0]] && edits[1] == what[is[1]])
active proctype check() { d_step { settled -> assert(what[is[0]] == 31) } }

init { atomic { run publisher(0); run publisher(1); run tool() } }
