import Foundation
import TestSupport
import Testing

extension Scene {
    /// Two devices with the same tables, `a.db` and `b.db`, of which `a.db` has published them.
    ///
    /// - Parameters:
    ///   - sql: makes the tables in `a.db`.
    ///   - roles: the role of each device, with more options of its `init`.
    static func pair(_ sql: String, roles: (String, String) = ("peer", "peer")) throws -> Scene {
        try copy(of: "\(roles) \(sql)") { scene in
            try scene.database("a.db").run(sql)
            try scene.succeed(Scene.setUp("a.db", as: roles.0, "--name a"))
            try scene.sync("a")
            try scene.succeed(Scene.join("b.db", as: roles.1, "--name b"))
            try scene.sync("b")
        }
    }

    /// Two peers, `desk.db` and `laptop.db`, each with its own copy of the cloud, `one` and `two`, as a tool that replicates folders
    /// makes them; both have version 1.
    func peersWithCopies() throws {
        try succeed("generate desk.db --notifications 12 --buckets 2")
        try succeed("init desk.db one --peers --built-in --name desk")
        try succeed("sync desk.db")
        try scratch.copy(scratch.path("one"), to: "two")
        try succeed("join laptop.db two --peer --name laptop")
        try succeed("sync laptop.db")
    }

    /// The same, and then each publishes version 2: it edits a row that the other one edits, too, and one of its own, deletes a row, and inserts one. The tool has
    /// brought everything over: desk's commit stands in both copies, laptop's lies beside it as a conflict copy.
    func versionsOfOneNumber() throws {
        try peersWithCopies()
        for (name, row) in [("desk", "1"), ("laptop", "2")] {
            try database("\(name).db").run(
                """
                UPDATE notifications SET title = 'by \(name)' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 1);
                UPDATE notifications SET body = 'by \(name)' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 1 OFFSET \(row));
                DELETE FROM notifications WHERE id IN (SELECT id FROM notifications ORDER BY id DESC LIMIT 1 OFFSET \(row));
                INSERT INTO buckets VALUES('\(name)', 'made on \(name)', NULL, NULL, NULL, '2026-03-01T08:00:00Z', '2026-03-01T08:00:00Z', NULL);
                """)
            try succeed("sync \(name).db")
        }
        try replicate("one", "two", conflict: "sync-conflict-20260301-081500-7KQ2M4A")
    }

    /// Brings each copy of the cloud what only the other has; where both have a file of one name with other bytes, the first one's
    /// stands in both, and the second one's is kept in both under a name of its own, as Syncthing does.
    ///
    /// - Parameter conflict: what is put into such a name; nil throws the second one's file away, as a plain copy would.
    func replicate(_ first: String, _ second: String, conflict: String?) throws {
        try Python.run(
            """
            import os, shutil, sys
            first, second, conflict = sys.argv[1:]
            def files(root): return {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}
            for source, target in ((first, second), (second, first)):
                for name in sorted(files(source) - files(target)):
                    os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
                    shutil.copy2(os.path.join(source, name), os.path.join(target, name))
            for name in sorted(files(first) & files(second)):
                one, two = os.path.join(first, name), os.path.join(second, name)
                if open(one, 'rb').read() == open(two, 'rb').read(): continue
                if conflict:
                    stem, ending = os.path.splitext(name)
                    aside = stem + '.' + conflict + ending
                    shutil.copy2(two, os.path.join(second, aside))
                    shutil.copy2(two, os.path.join(first, aside))
                shutil.copy2(one, two)
            """, [scratch.path(first), scratch.path(second), conflict ?? ""])
    }
}
