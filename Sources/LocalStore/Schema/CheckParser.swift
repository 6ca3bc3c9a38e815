import SnapshotModel
import StrictText

/// Reads SQL expressions of CHECK constraints and defaults, as far as ``CheckExpression`` can say them.
///
/// Operators bind as SQLite's documentation of expressions says. What is not understood to the last character is no expression here.
struct CheckParser {
    /// Why an expression is not understood.
    struct Fault: Error {
        let reason: String
    }

    private let tokens: [SQLToken]
    private let source: [Unicode.Scalar]
    /// The columns that may be named, as the table has them, by their folded names.
    private let columns: [ExactText: String]
    /// All names that are columns to SQLite, folded.
    private let taken: Set<ExactText>
    private var at = 0
    private var depth = 0

    private init(_ tokens: ArraySlice<SQLToken>, of source: [Unicode.Scalar], columns: [String], all: [String]) {
        self.tokens = Array(tokens)
        self.source = source
        self.columns = Dictionary(columns.map { ($0.folded, $0) }, uniquingKeysWith: { first, _ in first })
        taken = Set((columns + all + RowidName.all).map(\.folded))
    }

    /// Reads one expression.
    ///
    /// - Parameters:
    ///   - source: the text of which the tokens are parts.
    ///   - columns: the columns of the table that may be named.
    ///   - all: all columns of the table.
    /// - Throws: ``Fault``.
    static func expression(_ tokens: ArraySlice<SQLToken>, of source: [Unicode.Scalar], columns: [String], of all: [String] = []) throws(Fault)
        -> CheckExpression
    {
        var parser = CheckParser(tokens, of: source, columns: columns, all: all)
        let found = try parser.disjunction()
        guard parser.at == parser.tokens.count else { throw parser.unknown() }
        guard found.size <= CheckExpression.sizeLimit, found.depth <= CheckExpression.depthLimit else { throw Fault(reason: "it is too long") }
        if let reason = found.fault { throw Fault(reason: reason) }
        return found
    }

    /// Reads the text of a column's default, as `PRAGMA table_info` gives it; nil if it is an expression.
    static func `default`(_ text: String) -> TableStructure.Default? {
        let source = Array(text.unicodeScalars), tokens = SQLToken.all(of: source)
        if tokens.count == 1, let word = tokens[0].name?.folded, tokens[0].quote == nil, word.hasPrefix("current_"),
            let time = TableStructure.CurrentTime(rawValue: String(word.text.dropFirst(8)))
        {
            return .current(time)
        }
        guard case .literal(let literal)? = try? expression(tokens[...], of: source, columns: []), literal.fault == nil else { return nil }
        return .literal(literal)
    }

    // MARK: - From the weakest operators to the strongest

    private mutating func disjunction() throws(Fault) -> CheckExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 2 * CheckExpression.depthLimit else { throw Fault(reason: "it is nested too deep") }
        var parts = [try conjunction()]
        while take("or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .apply(.or, parts)
    }

    private mutating func conjunction() throws(Fault) -> CheckExpression {
        var parts = [try negation()]
        while take("and") { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .apply(.and, parts)
    }

    private mutating func negation() throws(Fault) -> CheckExpression {
        var isNegated = false, count = 0
        while take("not") {
            isNegated = true
            count += 1
        }
        let found = try equality()
        guard isNegated else { return found }
        // NOT makes a truth value of any value, so two of them are not none.
        let once = CheckExpression.apply(.not, [found])
        return count % 2 == 1 ? once : .apply(.not, [once])
    }

    private mutating func equality() throws(Fault) -> CheckExpression {
        var left = try comparison()
        while true {
            if takeSymbols("==") || takeSymbols("=") {
                left = .apply(.equal, [left, try comparison()])
            } else if takeSymbols("<>") || takeSymbols("!=") {
                left = .apply(.notEqual, [left, try comparison()])
            } else if take("isnull") {
                left = .apply(.isNull, [left])
            } else if take("notnull") {
                left = .apply(.notNull, [left])
            } else if take("is") {
                let isNegated = take("not")
                // IS TRUE asks for more than IS 1, and IS DISTINCT FROM is of newer versions of SQLite.
                if let word = word, ["true", "false", "distinct"].contains(word) { throw unknown() }
                let right = try comparison()
                left =
                    right == .literal(.null) ? .apply(isNegated ? .notNull : .isNull, [left]) : .apply(isNegated ? .isNot : .is, [left, right])
            } else if word == "not" || word.map({ ["between", "in", "like", "glob"].contains($0) }) == true {
                let isNegated = take("not")
                if isNegated, take("null") {
                    left = .apply(.notNull, [left])
                } else if take("between") {
                    let low = try comparison()
                    guard take("and") else { throw unknown() }
                    left = .apply(isNegated ? .notBetween : .between, [left, low, try comparison()])
                } else if take("in") {
                    left = .apply(isNegated ? .notIn : .in, [left] + (try list()))
                } else if take("like") {
                    let pattern = try comparison()
                    left = .apply(isNegated ? .notLike : .like, [left, pattern] + (take("escape") ? [try comparison()] : []))
                } else if take("glob") {
                    left = .apply(isNegated ? .notGlob : .glob, [left, try comparison()])
                } else {
                    throw unknown()
                }
            } else {
                return left
            }
        }
    }

    private mutating func comparison() throws(Fault) -> CheckExpression {
        var left = try sum()
        while true {
            // `<<`, `>>` and `<>` are other operators.
            guard let symbol, symbol == "<" || symbol == ">", !isNext("<>"), !isNext("<<"), !isNext(">>") else { return left }
            let operation: CheckOperation
            if takeSymbols("<=") {
                operation = .lessOrEqual
            } else if takeSymbols(">=") {
                operation = .greaterOrEqual
            } else {
                operation = symbol == "<" ? .less : .greater
                at += 1
            }
            left = .apply(operation, [left, try sum()])
        }
    }

    private mutating func sum() throws(Fault) -> CheckExpression {
        var left = try product()
        while let operation: CheckOperation = symbol == "+" ? .add : symbol == "-" && !isNext("->") ? .subtract : nil {
            at += 1
            left = .apply(operation, [left, try product()])
        }
        return left
    }

    private mutating func product() throws(Fault) -> CheckExpression {
        var left = try concatenation()
        while let operation: CheckOperation = symbol == "*" ? .multiply : symbol == "/" ? .divide : symbol == "%" ? .remainder : nil {
            at += 1
            left = .apply(operation, [left, try concatenation()])
        }
        return left
    }

    private mutating func concatenation() throws(Fault) -> CheckExpression {
        var left = try collated()
        while takeSymbols("||") { left = .apply(.concatenate, [left, try collated()]) }
        return left
    }

    private mutating func collated() throws(Fault) -> CheckExpression {
        var found = try signed()
        while take("collate") {
            guard let name = tokens.indices.contains(at) ? tokens[at].name?.folded : nil, let collation = TableStructure.Collation(rawValue: name.text)
            else { throw unknown() }
            at += 1
            let operation: CheckOperation =
                switch collation {
                case .binary: .collateBinary
                case .nocase: .collateNocase
                case .rtrim: .collateRtrim
                }
            found = .apply(operation, [found])
        }
        return found
    }

    private mutating func signed() throws(Fault) -> CheckExpression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 2 * CheckExpression.depthLimit else { throw Fault(reason: "it is nested too deep") }
        guard let sign = symbol, sign == "+" || sign == "-" else { return try atom() }
        at += 1
        if let word, Self.isNumber(word.text) { return .literal(try number(negative: sign == "-")) }
        // A plus sign takes a column's affinity away, which nothing here says.
        guard sign == "-" else { throw unknown() }
        return .apply(.negative, [try signed()])
    }

    private mutating func atom() throws(Fault) -> CheckExpression {
        guard tokens.indices.contains(at) else { throw Fault(reason: "it ends too early") }
        let token = tokens[at]
        if symbol == "(" {
            at += 1
            let found = try disjunction()
            guard takeSymbols(")") else { throw unknown() }
            return found
        }
        if let text = token.text {
            at += 1
            return .literal(.text(text.exact))
        }
        guard let name = token.name else { throw unknown() }
        if token.quote == nil {
            if Self.isNumber(name) { return .literal(try number(negative: false)) }
            if isWord(at, "x"), tokens.indices.contains(at + 1), tokens[at + 1].text != nil, tokens[at + 1].range.lowerBound == token.range.upperBound {
                return .literal(try blob())
            }
            if isSymbol(at + 1, "(") { return try call(name) }
            if take("case") { return try choice() }
        }
        at += 1
        if let column = columns[name.folded] { return .column(column.exact) }
        // SQLite takes a name in double quotes that no column has for a text.
        if token.quote == "\"", !isSymbol(at, "."), !taken.contains(name.folded) { return .literal(.text(name.exact)) }
        if token.quote == nil {
            switch name.folded {
            case "null": return .literal(.null)
            case "true": return .literal(.integer(1))
            case "false": return .literal(.integer(0))
            default: break
            }
        }
        throw Fault(reason: "it uses \(name)")
    }

    private mutating func call(_ name: String) throws(Fault) -> CheckExpression {
        guard let operation = CheckOperation.allCases.first(where: { $0.function?.exact == name.folded }) else {
            throw Fault(reason: "it uses \(name)()")
        }
        at += 1
        let arguments = try list()
        // With one argument, max() and min() are of many rows.
        guard operation.counts.contains(arguments.count) else { throw Fault(reason: "it uses \(name)() with \(arguments.count) arguments") }
        return .apply(operation, arguments)
    }

    /// `CASE WHEN … THEN … ELSE … END`, behind its first word.
    private mutating func choice() throws(Fault) -> CheckExpression {
        var parts: [CheckExpression] = []
        while take("when") {
            parts.append(try disjunction())
            guard take("then") else { throw unknown() }
            parts.append(try disjunction())
        }
        guard !parts.isEmpty else { throw unknown() }
        if take("else") { parts.append(try disjunction()) }
        guard take("end") else { throw unknown() }
        return .apply(.case, parts)
    }

    /// Expressions in parentheses, at least one.
    private mutating func list() throws(Fault) -> [CheckExpression] {
        guard takeSymbols("(") else { throw unknown() }
        var parts = [try disjunction()]
        while takeSymbols(",") { parts.append(try disjunction()) }
        guard takeSymbols(")") else { throw unknown() }
        return parts
    }

    private mutating func number(negative: Bool) throws(Fault) -> TableLiteral {
        let text = (negative ? "-" : "") + (tokens[at].name ?? "")
        let isPlain = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if isPlain, let integer = Int64(text) {
            at += 1
            return .integer(integer)
        }
        // Swift reads hexadecimal numbers and words as well, which are other numbers to SQLite, or none.
        guard text.utf8.allSatisfy({ "+-.eE0123456789".utf8.contains($0) }), let real = Double(text), real.isFinite else { throw unknown() }
        at += 1
        return .real(real)
    }

    private static func isNumber(_ word: String) -> Bool {
        word.utf8.first.map { $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: ".") } == true
    }

    private mutating func blob() throws(Fault) -> TableLiteral {
        let digits = Array((tokens[at + 1].text ?? "").utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16) }
        guard digits.count % 2 == 0, bytes.count * 2 == digits.count else { throw unknown() }
        at += 2
        return .blob(.init(bytes))
    }

    // MARK: - Tokens

    /// The folded word at the present place; nil if there is none.
    private var word: ExactText? {
        guard tokens.indices.contains(at), tokens[at].quote == nil else { return nil }
        return tokens[at].name?.folded
    }

    private var symbol: Unicode.Scalar? { tokens.indices.contains(at) ? tokens[at].symbol : nil }

    private func isWord(_ index: Int, _ word: ExactText) -> Bool { tokens.indices.contains(index) && tokens[index].isWord(word) }

    private func isSymbol(_ index: Int, _ symbol: Unicode.Scalar) -> Bool { tokens.indices.contains(index) && tokens[index].symbol == symbol }

    private mutating func take(_ word: ExactText) -> Bool {
        guard isWord(at, word) else { return false }
        at += 1
        return true
    }

    /// Whether these characters come next, with nothing between them.
    private func isNext(_ symbols: String) -> Bool {
        for (offset, symbol) in symbols.unicodeScalars.enumerated() {
            guard isSymbol(at + offset, symbol), tokens[at + offset].range.lowerBound == tokens[at].range.lowerBound + offset else { return false }
        }
        return true
    }

    private mutating func takeSymbols(_ symbols: String) -> Bool {
        guard isNext(symbols) else { return false }
        at += symbols.unicodeScalars.count
        return true
    }

    private func unknown() -> Fault {
        guard tokens.indices.contains(at) else { return Fault(reason: "it ends too early") }
        return Fault(reason: "it uses \(SQLToken.text(source[tokens[at].range]))")
    }
}
