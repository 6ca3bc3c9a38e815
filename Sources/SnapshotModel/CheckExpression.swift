package import StrictText

/// An expression of a CHECK constraint, as a tree: columns, literals, and operations of a closed set.
///
/// There is no SQL text in it. ``sql`` writes the text from names, which are quoted, and from the words of ``CheckOperation``.
package indirect enum CheckExpression: Hashable, Sendable {
    /// The name of a column of the table.
    case column(ExactText)
    case literal(TableLiteral)
    case apply(CheckOperation, [CheckExpression])

    /// The deepest nesting, counted in operations.
    package static let depthLimit = 24
    /// The most columns, literals and operations of one expression.
    package static let sizeLimit = 512

    /// How many columns, literals and operations there are.
    package var size: Int {
        if case .apply(_, let arguments) = self { arguments.reduce(1) { $0 + $1.size } } else { 1 }
    }

    /// How deep operations are nested.
    package var depth: Int {
        if case .apply(_, let arguments) = self { 1 + (arguments.map(\.depth).max() ?? 0) } else { 0 }
    }

    /// The names of the columns that it reads.
    package var columns: [String] {
        switch self {
        case .column(let name): [name.text]
        case .literal: []
        case .apply(_, let arguments): arguments.flatMap(\.columns)
        }
    }

    /// Why it cannot be used; nil if it can.
    package var fault: String? {
        switch self {
        case .column: nil
        case .literal(let literal): literal.fault
        case .apply(let operation, let arguments):
            operation.counts.contains(arguments.count)
                ? arguments.lazy.compactMap(\.fault).first : "the operation \(operation.rawValue) has \(arguments.count) arguments"
        }
    }

    /// The expression as SQL, with a pair of parentheses for each operation.
    ///
    /// - Parameter quote: how a column's name is quoted.
    package func sql(_ quote: (String) -> String) -> String {
        switch self {
        case .column(let name): quote(name.text)
        case .literal(let literal): literal.sql
        case .apply(let operation, let arguments): operation.sql(arguments.map { $0.sql(quote) })
        }
    }
}

extension CheckExpression: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case column, op, args
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func corrupted(_ reason: String) -> DecodingError {
            DecodingError.dataCorrupted(DecodingError.Context(codingPath: decoder.codingPath, debugDescription: reason))
        }
        if container.contains(.column) {
            self = .column(try container.decode(ExactText.self, forKey: .column))
        } else if container.contains(.op) {
            // Each operation adds two steps to the path, so this bounds the recursion.
            guard decoder.codingPath.count <= 2 * Self.depthLimit + 8 else { throw corrupted("a CHECK is nested too deep") }
            self = .apply(
                try container.decode(CheckOperation.self, forKey: .op), try container.decode([CheckExpression].self, forKey: .args))
        } else {
            self = .literal(try TableLiteral(from: decoder))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .column(let name): try container.encode(name, forKey: .column)
        case .literal(let literal): try literal.encode(to: encoder)
        case .apply(let operation, let arguments):
            try container.encode(operation, forKey: .op)
            try container.encode(arguments, forKey: .args)
        }
    }
}

/// What a ``CheckExpression`` can do with values: SQLite's operators, and functions whose result depends on their arguments alone.
package enum CheckOperation: String, Hashable, Sendable, Codable, CaseIterable {
    case and, or, not
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual, `is`, isNot
    case isNull, notNull, between, notBetween, `in`, notIn
    case like, notLike, glob, notGlob
    case add, subtract, multiply, divide, remainder, negative, concatenate
    case collateBinary, collateNocase, collateRtrim
    case `case`
    case abs, coalesce, hex, ifnull, instr, jsonValid, length, lower, ltrim, max, min, nullif, replace, round, rtrim, substr, trim, `typeof`, unicode, upper

    /// How many arguments there may be.
    package var counts: ClosedRange<Int> {
        switch self {
        case .not, .isNull, .notNull, .negative, .collateBinary, .collateNocase, .collateRtrim: 1...1
        case .abs, .hex, .jsonValid, .length, .lower, .typeof, .unicode, .upper: 1...1
        case .ltrim, .rtrim, .trim, .round: 1...2
        case .and, .or, .in, .notIn: 2...CheckExpression.sizeLimit
        case .coalesce, .max, .min: 2...100
        case .between, .notBetween, .replace: 3...3
        // The third is what ESCAPE says.
        case .like, .notLike, .substr: 2...3
        case .case: 2...100
        default: 2...2
        }
    }

    /// The operator between two values; nil for all others.
    package var infix: String? {
        switch self {
        case .equal: "="
        case .notEqual: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .is: "IS"
        case .isNot: "IS NOT"
        case .glob: "GLOB"
        case .notGlob: "NOT GLOB"
        case .like: "LIKE"
        case .notLike: "NOT LIKE"
        case .add: "+"
        case .subtract: "-"
        case .multiply: "*"
        case .divide: "/"
        case .remainder: "%"
        case .concatenate: "||"
        case .and: "AND"
        case .or: "OR"
        default: nil
        }
    }

    /// The function's name in SQL; nil for operators.
    package var function: String? {
        switch self {
        case .jsonValid: "json_valid"
        case .abs, .coalesce, .hex, .ifnull, .instr, .length, .lower, .ltrim, .max, .min, .nullif, .replace, .round, .rtrim, .substr, .trim, .typeof, .unicode,
            .upper:
            rawValue
        default: nil
        }
    }

    /// The operation as SQL, in parentheses.
    fileprivate func sql(_ arguments: [String]) -> String {
        if let function { return "\(function)(\(arguments.joined(separator: ", ")))" }
        if self == .and || self == .or, let infix { return "(\(arguments.joined(separator: " \(infix) ")))" }
        if let infix { return "(\(arguments[0]) \(infix) \(arguments[1])\(arguments.count > 2 ? " ESCAPE \(arguments[2])" : ""))" }
        switch self {
        case .not: return "(NOT \(arguments[0]))"
        case .negative: return "(- \(arguments[0]))"
        case .isNull: return "(\(arguments[0]) IS NULL)"
        case .notNull: return "(\(arguments[0]) IS NOT NULL)"
        case .between, .notBetween: return "(\(arguments[0]) \(self == .between ? "" : "NOT ")BETWEEN \(arguments[1]) AND \(arguments[2]))"
        case .in, .notIn: return "(\(arguments[0]) \(self == .in ? "" : "NOT ")IN (\(arguments.dropFirst().joined(separator: ", "))))"
        case .collateNocase: return "(\(arguments[0]) COLLATE NOCASE)"
        case .collateRtrim: return "(\(arguments[0]) COLLATE RTRIM)"
        case .collateBinary: return "(\(arguments[0]) COLLATE BINARY)"
        default:
            let pairs = stride(from: 0, to: arguments.count - 1, by: 2).map { "WHEN \(arguments[$0]) THEN \(arguments[$0 + 1])" }
            let rest = arguments.count % 2 == 1 ? " ELSE \(arguments[arguments.count - 1])" : ""
            return "(CASE \(pairs.joined(separator: " "))\(rest) END)"
        }
    }
}
