import Foundation
import TestSupport
import Testing

/// Eight devices at once, each with a process that edits and another that syncs and is sometimes killed: nothing that was
/// acknowledged is lost, and all end with the same data.
@Suite(.runsPrograms) struct PeerProcessesTests {
    @Test func eightPeersThatAreKilledAtRandomConverge() throws {
        let seed = Sample.firstSeed ?? Int.random(in: 1...1_000_000)
        let rounds = Sample.isWhole ? 40 : 4
        print("eight peers: seed \(seed), \(rounds) rounds")
        let scene = try Scene()
        try scene.succeed("init d0.db cloud --peers --built-in --name d0")
        try scene.succeed("generate d0.db --notifications 5 --buckets 2")
        try scene.sync("d0")
        for number in 1..<8 {
            try scene.succeed("join d\(number).db cloud --peer --name d\(number)")
            try scene.succeed("sync d\(number).db")
        }
        let report = try Python.run(Self.script, [BuiltCommand.path(), scene.scratch.path, String(seed), String(rounds)])
        #expect(report.hasPrefix("all is well"), "seed \(seed): \(report)")
        print(report)
        #expect(try scene.succeed("check d3.db --local --all-versions").hasSuffix("all is well\n"), "seed \(seed)")
    }

    private static let script = """
        import os, random, signal, sqlite3, subprocess, sys, threading, time
        command, folder, seed, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        inserted, deleted, problems, counts = set(), set(), [], {'sync': 0, 'killed': 0, 'later': 0}
        lock = threading.Lock()

        def database(name): return os.path.join(folder, name + '.db')

        def sync(name, killed_after=None):
            process = subprocess.Popen([command, 'sync', database(name), '--quiet'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if killed_after is not None:
                time.sleep(killed_after)
                process.send_signal(signal.SIGKILL)
            _, errors = process.communicate()
            with lock:
                counts['sync'] += 1
                if process.returncode == -9: counts['killed'] += 1
                elif process.returncode == 75: counts['later'] += 1
                elif process.returncode != 0: problems.append('%s: %d %s' % (name, process.returncode, errors.decode()))
            return process.returncode

        def device(number):
            name, chance = 'd%d' % number, random.Random(seed * 100 + number)
            connection = sqlite3.connect(database(name), timeout=60, isolation_level=None)
            mine = []
            for turn in range(rounds):
                for step in range(1 + chance.randrange(4)):
                    key = '%s-%d-%d' % (name, turn, step)
                    connection.execute("INSERT INTO buckets VALUES(?, 'new', NULL, NULL, NULL, '2026-01-01T00:00:00Z', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NULL)", (key,))
                    with lock: inserted.add(key)
                    mine.append(key)
                if chance.random() < 0.3:
                    key = mine.pop(chance.randrange(len(mine)))
                    with lock: deleted.add(key)
                    connection.execute('DELETE FROM buckets WHERE id = ?', (key,))
                # All of them edit the same ones, with clocks that say what they like.
                connection.execute("UPDATE notifications SET title = ?, updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?) WHERE id = (SELECT min(id) FROM notifications)",
                    ('%s %d' % (name, turn), '%d seconds' % chance.choice([0, -3600, 5])))
                sync(name, chance.random() * 0.12 if chance.random() < 0.35 else None)
            connection.close()

        threads = [threading.Thread(target=device, args=(number,)) for number in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        for turn in range(2):
            for number in range(8):
                # Nobody else is at work now: the first attempt must do.
                if sync('d%d' % number) != 0: problems.append('a quiet sync of d%d failed' % number)
        def dump(name):
            connection = sqlite3.connect(database(name))
            return [connection.execute('SELECT * FROM %s ORDER BY id' % table).fetchall() for table in ('buckets', 'notifications')]
        dumps = [dump('d%d' % number) for number in range(8)]
        for number in range(1, 8):
            if dumps[number] != dumps[0]: problems.append('d%d differs from d0' % number)
        there = {row[0] for row in dumps[0][0] if row[0].startswith('d')}
        wanted = inserted - deleted
        if there != wanted: problems.append('missing %s, too many %s' % (sorted(wanted - there), sorted(there - wanted)))
        print('\\n'.join(problems) or 'all is well: %d inserted, %d deleted, %s' % (len(inserted), len(deleted), counts))
        """
}
