import Foundation
import TestSupport
import Testing

/// What a reader changed and no message can carry is told, each change with its reason; and no message has what a reader may not change.
@Suite(.runsPrograms) struct KeptEditTests {
    private static let datasets = """
        {"formatVersion":1,"datasets":[
          {"name":"orders","key":"id","timestamp":"updated_at","columns":[{"name":"id","type":"text"},{"name":"customer","type":"text"},
            {"name":"state","type":"text"},{"name":"note","type":"text","optional":true},{"name":"updated_at","type":"text"}],"messages":{"patch":["state"]}},
          {"name":"customers","key":"id","columns":[{"name":"id","type":"text"},{"name":"name","type":"text"},{"name":"email","type":"text","optional":true}],
            "messages":{"rows":true}},
          {"name":"prices","key":"article","columns":[{"name":"article","type":"text"},{"name":"cents","type":"integer"}]}]}
        """

    private func shop() throws -> Scene {
        try Scene.copy(of: "a shop") { scene in
            try scene.scratch.write(Self.datasets, to: "shop.json")
            for name in ["desk", "phone"] {
                try scene.database("\(name).db").run(
                    """
                    CREATE TABLE customers(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, email TEXT UNIQUE);
                    CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL, customer TEXT NOT NULL REFERENCES customers(id), state TEXT NOT NULL, note TEXT,
                        updated_at TEXT NOT NULL);
                    CREATE TABLE prices(article TEXT PRIMARY KEY NOT NULL, cents INTEGER NOT NULL);
                    """)
            }
            try scene.database("desk.db").run(
                """
                INSERT INTO customers VALUES('c1', 'Ann', 'ann@example.org'), ('c2', 'Bob', NULL);
                INSERT INTO orders VALUES('o1', 'c1', 'open', 'call first', '2026-01-01T00:00:00Z'), ('o2', 'c1', 'open', NULL, '2026-01-01T00:00:00Z'),
                    ('o3', 'c2', 'open', NULL, '2026-01-01T00:00:00Z'), ('o4', 'c2', 'open', NULL, '2026-01-01T00:00:00Z');
                INSERT INTO prices VALUES('pen', 120);
                """)
            for (name, role) in [("desk", "writer"), ("phone", "reader")] {
                try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets shop.json"))
                try scene.succeed("sync \(name).db")
            }
        }
    }

    @Test func everyChangeThatNoMessageCarriesIsToldWithItsReason() throws {
        let scene = try shop()
        try scene.database("phone.db").run(
            """
            UPDATE orders SET state = 'paid', note = 'secret', updated_at = '2026-02-01T00:00:00Z' WHERE id = 'o1';
            UPDATE orders SET note = 'mine alone', updated_at = '2026-02-01T00:00:00Z' WHERE id = 'o2';
            DELETE FROM orders WHERE id = 'o3';
            INSERT INTO orders VALUES('o9', 'c2', 'open', NULL, '2026-02-01T00:00:00Z');
            UPDATE prices SET cents = 1;
            INSERT INTO customers VALUES('c3', 'Eve', NULL), ('big', printf('%.600000c', 'x'), NULL), (printf('%.3000c', 'k'), 'long key', NULL),
                ('odd', CAST(x'ff' AS TEXT), NULL);
            """)
        let text = try scene.succeed("sync phone.db")
        for line in [
            "sent 3 edits to the publisher", "orders: 1 change stays here: readers may not change note\n",
            "orders: 1 change stays here: readers may not change note, updated_at\n", "orders: 1 change stays here: readers may not delete rows\n",
            "orders: 1 change stays here: readers may not add rows\n", "prices: 1 change stays here: readers may not edit the table\n",
            "customers: 1 change stays here: the row is too large for a message\n", "customers: 1 change stays here: the row's key cannot be synced\n",
        ] { #expect(text.contains(line), "\(line): \(text)") }
        let kept = try #require(try scene.json("sync phone.db")["kept"] as? [[String: Any]])
        #expect(kept.compactMap { $0["changes"] as? Int }.reduce(0, +) == 7)
        let listed = try scene.succeed("pending phone.db")
        for line in [
            "stays here: update orders o1: readers may not change note\n", "stays here: update orders o2: readers may not change note, updated_at\n",
            "stays here: delete orders o3: readers may not delete rows\n", "stays here: insert orders o9: readers may not add rows\n",
            "stays here: update prices pen: readers may not edit the table\n", "stays here: insert customers big: the row is too large for a message\n",
            "stays here: insert customers: the row's key cannot be synced\n",
        ] { #expect(listed.contains(line), "\(line): \(listed)") }
        #expect(((try scene.json("status phone.db")["messages"] as? [String: Int])?["overlays"]) == 6)
        // What could be sent was sent, and nothing else.
        let message = try scene.scratch.path(scene.newest("messages/phone"))
        #expect(try String(contentsOfFile: message, encoding: .utf8).contains("secret") == false)
        #expect(try scene.succeed("sync desk.db").contains("edits of readers: 2 applied, 1 refused"))
        #expect(try scene.value("SELECT state || ', ' || note FROM orders WHERE id = 'o1'", in: "desk.db") == "paid, call first")
        // A row that no version can have stops nothing.
        #expect(try scene.succeed("conflicts desk.db").contains("customers odd (refused: the text is not UTF-8"))
        try scene.sync("phone")
        #expect(try scene.value("SELECT state || ', ' || note FROM orders WHERE id = 'o1'", in: "phone.db") == "paid, secret")
        #expect(try scene.value("SELECT count(*) FROM snapsync_sent", in: "phone.db") == "0")
    }

    /// The publisher takes the columns that a message lacks from its own row, also for its journal.
    @Test func aPatchThatLosesIsRecordedWithThePublishersOtherColumns() throws {
        let scene = try shop()
        try scene.database("phone.db").run("UPDATE orders SET state = 'paid', note = 'secret', updated_at = '2026-02-01T00:00:00Z' WHERE id = 'o1'")
        try scene.sync("phone")
        try scene.database("desk.db").run("UPDATE orders SET state = 'void', note = 'of the desk', updated_at = '2030-03-01T00:00:00Z' WHERE id = 'o1'")
        try scene.sync("desk")
        let entries = try #require(try scene.json("conflicts desk.db")["conflicts"] as? [[String: Any]])
        let lost = try #require((entries.first?["lost"] as? [String: Any])?["entity"] as? String)
        #expect(lost.contains(#""state":"paid""#) && lost.contains(#""note":"of the desk""#), "\(lost)")
    }
}
