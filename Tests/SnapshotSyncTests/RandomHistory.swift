import SnapshotModel

/// A random table, and random statements on it: the same for the same seed.
struct RandomHistory {
    var random: SeededGenerator
    let isLarge: Bool
    let hasTextKey: Bool
    let hasRowid: Bool
    let writerWAL: Bool
    let readerWAL: Bool
    private var salt = 0

    init(seed: UInt64, isLarge: Bool) {
        random = SeededGenerator(seed: seed)
        self.isLarge = isLarge
        hasTextKey = random.happens(percent: 70)
        hasRowid = random.happens(percent: 80)
        writerWAL = random.happens(percent: 60)
        readerWAL = random.happens(percent: 60)
    }

    var schema: DatasetSchema { get throws { try .everyKind(key: hasTextKey ? .text : .integer) } }

    var table: String {
        DatasetSchema.everyKindTable(key: hasTextKey ? "TEXT PRIMARY KEY" : "INTEGER PRIMARY KEY", suffix: hasRowid ? "" : " WITHOUT ROWID")
    }

    /// Some statements: inserts, updates, deletes, of one row or of many.
    mutating func statements() -> String {
        if random.happens(percent: 12) { return "" }
        return (0..<1 + random.below(4)).map { _ in statement() }.joined(separator: ";\n")
    }

    private mutating func statement() -> String {
        switch random.below(12) {
        case 0...3: return (0..<1 + random.below(isLarge ? 5 : 12)).map { _ in insert() }.joined(separator: ";\n")
        case 4: return insertMany(isLarge ? 5200 + random.below(1500) : random.below(80))
        case 5, 6: return "UPDATE things SET \(assignment()) WHERE id \(comparison())"
        case 7: return "UPDATE OR IGNORE things SET id = \(key()) WHERE id = (SELECT id FROM things LIMIT 1 OFFSET \(random.below(isLarge ? 5000 : 20)))"
        case 8: return "UPDATE things SET \(assignment()) WHERE count % 17 = \(random.below(17))"
        case 9: return "DELETE FROM things WHERE id \(comparison())"
        case 10: return "DELETE FROM things WHERE count % 7 = \(random.below(7))"
        default: return random.happens(percent: 20) ? "DELETE FROM things" : "REPLACE INTO things(id, done) VALUES(\(key()), \(boolean()))"
        }
    }

    private mutating func insert() -> String {
        "REPLACE INTO things VALUES(\(key()), \(text()), \(integer()), \(real()), \(json()), \(blob()), \(boolean()))"
    }

    private mutating func insertMany(_ count: Int) -> String {
        salt += 1 + random.below(1000)
        let key = hasTextKey ? "printf('%08x', (n * 2654435761 + \(salt)) % 4294967296)" : "(n * 2654435761 + \(salt)) % 4294967296 - 2147483648"
        return """
            INSERT OR IGNORE INTO things
            WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(max(1, count)))
            SELECT \(key), '2026-01-01T00:00:00Z', n, n / 3.0, printf('{"n": [%d, null]}', n), CAST(printf('%c%d', n % 256, n) AS BLOB), n % 2 FROM numbers
            """
    }

    private mutating func comparison() -> String {
        switch random.below(3) {
        case 0: return "= \(key())"
        case 1: return "> (SELECT id FROM things ORDER BY id DESC LIMIT 1 OFFSET \(random.below(isLarge ? 900 : 6)))"
        default: return "< (SELECT id FROM things ORDER BY id LIMIT 1 OFFSET \(random.below(isLarge ? 900 : 6)))"
        }
    }

    private mutating func assignment() -> String {
        ["changed = \(text())", "count = \(integer())", "size = \(real())", "tags = \(json())", "image = \(blob())", "done = \(boolean())"][random.below(6)]
    }

    private mutating func key() -> String {
        hasTextKey
            ? ["''", "'a'", "'A'", "'a\(random.below(30))'", "'ü\(random.below(9))'", "char(0, \(random.below(5)))", "'😀' || \(random.below(9))", "' '"][
                random.below(8)]
            : [String(random.below(60)), String(-random.below(60)), "9223372036854775807", "-9223372036854775808"][random.below(4)]
    }

    private mutating func text() -> String {
        let letters = [
            "NULL", "''", "'it''s'", "char(0)", "'a' || char(0) || 'b'", "'\"\\/'", "char(8232, 127, 31, 10)", "'😀 ü 表'",
            "hex(zeroblob(\(random.below(3000))))", "'12'", "'\(random.next())'",
        ]
        return letters[random.below(letters.count)]
    }

    private mutating func integer() -> String {
        ["NULL", "0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "\(Int64(bitPattern: random.next()))"][random.below(7)]
    }

    private mutating func real() -> String {
        let value = Double(bitPattern: random.next())
        return ["NULL", "0.0", "-0.0", "1e308", "5e-324", "-2.2250738585072014e-308", "0.1", "3", value.isFinite ? "\(value)" : "1.5"][random.below(9)]
    }

    private mutating func json() -> String {
        ["NULL", "'{}'", "'[]'", "' [1,\t2] '", "'null'", "'\"a\\u0000\"'", "'1e400'", "'{\"a\":{\"b\":[true,false,\(random.below(99))]}}'", "'\"😀\"'"][
            random.below(9)]
    }

    private mutating func blob() -> String {
        ["NULL", "x''", "x'00'", "x'ff00fe'", "zeroblob(\(random.below(2000)))", "x'2227'", "CAST('text' AS BLOB)"][random.below(7)]
    }

    private mutating func boolean() -> String { ["NULL", "0", "1"][random.below(3)] }
}
