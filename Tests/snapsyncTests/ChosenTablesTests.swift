import Foundation
import TestSupport
import Testing

/// A reader takes some tables of a zone, and nothing of the others.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct ChosenTablesTests {
    /// A writer with a shop: `items` refer to `orders` and `products`, `orders` to `customers`.
    private static func shop() throws -> Scene {
        try Scene.copy(of: "chosen tables") { scene in
            try scene.database("shop.db").run(
                """
                CREATE TABLE customers(id TEXT PRIMARY KEY NOT NULL, name TEXT);
                CREATE TABLE products(number TEXT PRIMARY KEY NOT NULL, name TEXT, cents INTEGER);
                CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL, customer TEXT REFERENCES customers(id));
                CREATE TABLE items(id TEXT PRIMARY KEY NOT NULL, "order" TEXT REFERENCES orders(id), product TEXT REFERENCES products(number));
                INSERT INTO customers VALUES('c1', 'Ann');
                INSERT INTO products VALUES('4011', 'Bananas', 99);
                INSERT INTO orders VALUES('o1', 'c1');
                INSERT INTO items VALUES('i1', 'o1', '4011');
                """)
            for line in ["init shop.db cloud --name shop", "sync shop.db"] { try scene.succeed(line) }
        }
    }

    private func tables(_ scene: Scene, _ database: String) throws -> String {
        try scene.database(database).run(
            "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sn%' ORDER BY name)")
    }

    @Test(arguments: ["--tables customers,ORDERS", "--exclude products,items"]) func theOthersAreNeitherMadeNorDownloaded(choice: String) throws {
        let scene = try Self.shop()
        try scene.succeed("join till.db cloud --name till \(choice)")
        #expect(try tables(scene, "till.db") == "customers orders\n")
        // Whoever opened an asset of the others would find none.
        let others = ["products", "items"].map { (scene.scratch.path("\(scene.zone)/assets/\($0)_data"), scene.scratch.path($0)) }
        for (place, aside) in others { try FileManager.default.moveItem(atPath: place, toPath: aside) }
        try scene.succeed("sync till.db")
        #expect(try scene.rows("till", table: "orders") == ["o1|c1"])
        for (place, aside) in others { try FileManager.default.moveItem(atPath: aside, toPath: place) }
        try scene.database("shop.db").run("INSERT INTO products VALUES('4225', 'Avocado', 149); INSERT INTO orders VALUES('o2', NULL)")
        for name in ["shop", "till"] { try scene.succeed("sync \(name).db") }
        #expect(try tables(scene, "till.db") == "customers orders\n" && scene.rows("till", table: "orders") == ["o1|c1", "o2|"])

        // Later it takes another, and gives it up.
        #expect(try scene.succeed("tables add till.db products").contains("made the table products"))
        try scene.succeed("sync till.db")
        #expect(try scene.database("till.db").run("SELECT * FROM products") == "4011|Bananas|99\n4225|Avocado|149\n")
        #expect(try tables(scene, "till.db") == "customers orders products\n")
        try scene.succeed("tables remove till.db products")
        try scene.database("shop.db").run("DELETE FROM products")
        for name in ["shop", "till"] { try scene.succeed("sync \(name).db\(name == "shop" ? " --allow-shrink all" : "")") }
        #expect(try scene.database("till.db").run("SELECT count(*) FROM products") == "2\n")
        for name in ["shop", "till"] { try scene.succeed("check \(name).db --local") }
    }

    @Test func aForeignKeyNeedsItsParents() throws {
        let scene = try Self.shop()
        for choice in ["--tables items,products", "--exclude orders,customers"] {
            let refusal = try scene.refused("join till.db cloud \(choice)")
            #expect(refusal.contains("items to orders, orders to customers") && !scene.scratch.exists("till.db"), "\(refusal)")
            #expect(refusal.contains("take orders, customers as well: --tables customers,products,orders,items"), "\(refusal)")
        }
        // The option of the hint.
        try scene.succeed("join all.db cloud --name all --tables customers,orders,products,items")
        try scene.succeed("join till.db cloud --name till --tables customers")
        try scene.succeed("sync till.db")
        let before = try scene.database("till.db").run(".dump")
        let refusal = try scene.refused("tables add till.db items")
        #expect(refusal.contains("items to products") && refusal.contains("snapsync tables add till.db items,products,orders"), "\(refusal)")
        #expect(try scene.database("till.db").run(".dump") == before)
        for line in ["tables add till.db items,products,orders", "sync till.db"] { try scene.succeed(line) }
        #expect(try scene.rows("till", table: "items") == ["i1|o1|4011"])
        #expect(try scene.database("till.db").run("SELECT \"table\" FROM pragma_foreign_key_list('items') ORDER BY 1") == "orders\nproducts\n")
        let removal = try scene.refused("tables remove till.db orders")
        #expect(
            removal.contains("synced tables have foreign keys to orders: items") && removal.contains("snapsync tables remove till.db orders,items"),
            "\(removal)")
        for line in ["tables remove till.db orders,items", "sync till.db"] { try scene.succeed(line) }
        try scene.succeed("check till.db --local")
    }

    @Test func wrongChoicesAreRefused() throws {
        let scene = try Self.shop()
        for (line, reason) in [
            ("join till.db cloud --tables order", "it has no table order\n  hint: the tables are customers, products, orders, items"),
            ("join till.db cloud --exclude order", "it has no table order"),
            ("join till.db cloud --tables orders --exclude orders", "no table is left to sync"),
            ("join till.db cloud --tables orders --peer", "require a reader"), ("join till.db cloud --tables orders --datasets x.json", "require a reader"),
        ] {
            let run = try scene.run(line)
            #expect(run.status == 64 && run.errorText.contains(reason) && !scene.scratch.exists("till.db"), "\(line): \(run.errorText)")
        }
        try scene.succeed("join till.db cloud --name till --tables customers")
        for (line, reason) in [
            ("tables add till.db order", "it has no table order"), ("tables add till.db customers", "all these tables are synced already"),
            ("tables add till.db products --timestamp products=name", "the zone defines the timestamps"),
        ] {
            let run = try scene.run(line)
            #expect(run.status == 64 && run.errorText.contains(reason), "\(line): \(run.errorText)")
        }
    }
}
