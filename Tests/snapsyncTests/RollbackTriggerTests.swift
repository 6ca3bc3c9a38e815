import Foundation
import TestSupport
import Testing

/// A trigger of the publisher that rolls the transaction back refuses the edit that it fires for, and no other one.
@Suite(.runsPrograms) struct RollbackTriggerTests {
    private func scene(_ trigger: String) throws -> Scene {
        let scene = try Scene()
        try scene.database("desk.db").run(
            """
            CREATE TABLE accounts(id TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, limit_cents INTEGER NOT NULL);
            CREATE TABLE bookings(id TEXT PRIMARY KEY NOT NULL, account TEXT NOT NULL REFERENCES accounts(id), cents INTEGER NOT NULL, text TEXT);
            CREATE TABLE audit(what TEXT);
            INSERT INTO accounts VALUES('a', 'Ann', 1000), ('b', 'Bob', 50);
            INSERT INTO bookings VALUES('1', 'a', 100, NULL), ('2', 'b', 10, NULL);
            CREATE TRIGGER audited AFTER UPDATE ON bookings BEGIN INSERT INTO audit VALUES('update ' || NEW.id); END;
            """)
        try scene.succeed("init desk.db cloud --name desk --tables accounts,bookings --reader-edits all")
        try scene.sync("desk")
        try scene.succeed("join phone.db cloud --name phone")
        try scene.sync("phone")
        try scene.database("desk.db").run(trigger)
        return scene
    }

    static let triggers = [
        "CREATE TRIGGER lim BEFORE INSERT ON bookings WHEN NEW.cents > (SELECT limit_cents FROM accounts WHERE id = NEW.account) BEGIN SELECT RAISE(ROLLBACK, 'over the limit'); END",
        "CREATE TRIGGER lim AFTER INSERT ON bookings WHEN NEW.cents > 999 BEGIN SELECT RAISE(ROLLBACK, 'over the limit'); END",
    ]

    @Test(arguments: triggers) func onlyTheEditIsRefused(trigger: String) throws {
        let scene = try scene(trigger)
        try scene.database("phone.db").run(
            """
            UPDATE bookings SET text = 'rent' WHERE id = '1';
            INSERT INTO accounts VALUES('c', 'Cid', 500);
            INSERT INTO bookings VALUES('3', 'c', 20, 'food'), ('4', 'a', 5000, 'car'), ('5', 'a', 6000, 'boat'), ('6', 'c', 30, 'ink');
            UPDATE bookings SET text = 'tea' WHERE id = '2';
            """)
        try scene.sync("phone")
        let report = try scene.succeed("sync desk.db")
        #expect(report.contains("2 edits were refused by the publisher"), "\(report)")
        let rows = "SELECT id, text FROM bookings ORDER BY id"
        #expect(try scene.database("desk.db").run(rows) == "1|rent\n2|tea\n3|food\n6|ink\n")
        #expect(try scene.database("desk.db").run("SELECT what FROM audit ORDER BY 1") == "update 1\nupdate 2\n")
        let conflicts = try scene.succeed("conflicts desk.db")
        #expect(conflicts.contains("bookings 4 (refused: the trigger lim failed (over the limit))"), "\(conflicts)")
        // Nothing is decided a second time, and later edits go through.
        try scene.sync("phone")
        #expect(try scene.database("phone.db").run(rows) == "1|rent\n2|tea\n3|food\n6|ink\n")
        #expect(try scene.succeed("conflicts phone.db").contains("bookings 4 (refused"))
        try scene.database("phone.db").run("UPDATE bookings SET text = 'later' WHERE id = '3'")
        try scene.sync("phone", "desk")
        #expect(try scene.value("SELECT text FROM bookings WHERE id = '3'", in: "desk.db") == "later")
        for name in ["desk", "phone"] { try scene.succeed("check \(name).db --local") }
    }
}
