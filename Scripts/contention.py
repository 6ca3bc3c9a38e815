#!/usr/bin/env python3
"""Peers that edit and sync without pause on one cloud directory: how many runs end with 75, and how long a run takes.

usage: contention.py COMMAND [--peers 8] [--edits 100] [--location DIRECTORY [--other DIRECTORY]] [--limit SECONDS]

Each peer is one process at a time: an edit of one of its own rows and of a row that all edit, then `snapsync sync`. At the end every peer
syncs twice and all must hold the same rows. Ends with 1 if a run ended with 75 or with an error, or if peers differ.
"""
import argparse, collections, os, shutil, sqlite3, subprocess, sys, tempfile, threading, time


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('command')
    options.add_argument('--peers', type=int, default=8)
    options.add_argument('--edits', type=int, default=100)
    options.add_argument('--location', help='an empty directory for the cloud; by default one beside the databases')
    options.add_argument('--other', help='the same directory through another mount, for every second peer')
    options.add_argument('--limit', type=float, default=1800, help='stop editing after so many seconds')
    options = options.parse_args()
    command = os.path.abspath(options.command)
    folder = tempfile.mkdtemp(prefix='snapsync-contention-')
    cloud = options.location or os.path.join(folder, 'cloud')
    codes, times, messages, lock = collections.Counter(), [], collections.Counter(), threading.Lock()
    slowest = collections.Counter()

    def database(number): return os.path.join(folder, 'd%d.db' % number)

    def run(*words):
        return subprocess.run([command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def expect(*words):
        result = run(*words)
        if result.returncode: sys.exit('%s: %d %s' % (' '.join(words), result.returncode, result.stderr))

    def peer(number, until):
        connection = sqlite3.connect(database(number), timeout=60, isolation_level=None)
        for turn in range(options.edits):
            if time.monotonic() > until: break
            connection.execute("UPDATE buckets SET name = ?, updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = ?", ('%d' % turn, 'own-%d' % number))
            connection.execute("UPDATE buckets SET name = ?, updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = 'common'", ('%d-%d' % (number, turn),))
            begin = time.monotonic()
            result = run('sync', database(number), '--quiet')
            with lock:
                codes[result.returncode] += 1
                times.append(time.monotonic() - begin)
                slowest[number] = max(slowest[number], times[-1])
                if result.returncode: messages[result.stderr.strip()] += 1
        connection.close()

    def rows(number):
        connection = sqlite3.connect(database(number))
        return connection.execute('SELECT * FROM buckets ORDER BY id').fetchall()

    insert = "INSERT INTO buckets VALUES(?, 'new', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL)"
    for number in range(options.peers):
        how = ('join', '--peer') if number else ('init', '--peers', '--built-in')
        expect(how[0], database(number), options.other if options.other and number % 2 else cloud, *how[1:], '--name', 'd%d' % number)
        connection = sqlite3.connect(database(number))
        if number == 0: connection.execute(insert, ('common',))
        connection.execute(insert, ('own-%d' % number,))
        connection.commit()
        connection.close()
        expect('sync', database(number))
    begin = time.monotonic()
    threads = [threading.Thread(target=peer, args=(number, begin + options.limit)) for number in range(options.peers)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    took = time.monotonic() - begin
    for turn in range(2):
        for number in range(options.peers): expect('sync', database(number), '--quiet')
    differing = [number for number in range(options.peers) if rows(number) != rows(0)]
    times.sort()
    def at(share): return times[min(len(times) - 1, int(len(times) * share))]
    print('%d peers, %d runs in %.0f s: %s' % (options.peers, len(times), took, ', '.join('%d ended with %d' % (count, code) for code, count in sorted(codes.items()))))
    print('a run took %.2f s (median), %.2f s (95 of 100), %.2f s (longest)' % (at(0.5), at(0.95), times[-1]))
    for message, count in messages.most_common(5): print('  %d times: %s' % (count, message))
    print('peers that differ in the end: %s' % (differing or 'none'))
    shutil.rmtree(folder)
    sys.exit(1 if differing or set(codes) != {0} else 0)


main()
