import Foundation
import TestSupport
import Testing

/// `docs/json.md`, taken apart: the fields of each report.
struct CommandPage {
    /// One row of a table of JSON fields.
    struct Field: Hashable {
        /// `written[].name`.
        let path: String
        let type: String
        let isOptional: Bool
    }

    /// The fields under each heading of the JSON part: `export --json`, `errors`.
    private(set) var fields: [String: [Field]] = [:]

    /// The project's own folder.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    init() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("docs/json.md"), encoding: .utf8)
        var heading = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " }.replacing("`", with: ""))
            }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 5, cells[1].hasPrefix("`"), let name = cells[1].split(separator: "`").first.map(String.init) else { continue }
            if heading.hasSuffix("--json") || heading == "errors" {
                let type = cells[2].replacing(", optional", with: "")
                fields[heading, default: []].append(Field(path: name, type: type, isOptional: type != cells[2]))
            }
        }
    }
}

extension CommandPage {
    /// Says in what a JSON object differs from the fields under a heading; nothing if in nothing.
    ///
    /// - Parameter seen: takes the paths that the object has, so that several objects together can show all of them.
    func differences(of object: [String: Any], from heading: String, seen: inout Set<String>) -> [String] {
        guard let documented = fields[heading] else { return ["\(heading) is not documented"] }
        var types: [String: Set<String>] = [:]
        Self.collect(object, "", &types)
        seen.formUnion(types.keys)
        var differences = types.keys.filter { path in !documented.contains { $0.path == path } }.map { "\($0) is not documented" }
        for field in documented {
            guard let found = types[field.path] else {
                // A field is missed only where the object that should have it is there.
                let parent = field.path.split(separator: ".").dropLast().joined(separator: ".")
                let hasParent = parent.isEmpty || types.keys.contains { $0.hasPrefix(parent + ".") }
                if !field.isOptional, hasParent { differences.append("\(field.path) is missing") }
                continue
            }
            let keys: Set<String> = ["string", "array of string", "array of integer", "array of object", "array of ?"]
            let expected: Set<String> = field.type == "key" ? keys : [field.type]
            if !found.isSubset(of: expected.union(field.type.hasPrefix("array") ? ["array"] : [])) {
                differences.append("\(field.path) is \(found), not \(field.type)")
            }
        }
        return differences
    }

    private static func collect(_ value: [String: Any], _ prefix: String, _ types: inout [String: Set<String>]) {
        for (key, value) in value {
            let path = prefix + key
            switch value {
            case let object as [String: Any]:
                types[path, default: []].insert("object")
                collect(object, path + ".", &types)
            case let array as [[String: Any]] where !array.isEmpty:
                types[path, default: []].insert("array of object")
                for object in array { collect(object, path + "[].", &types) }
            case let array as [Any]:
                let kind = array.allSatisfy { $0 is String } ? "string" : array.allSatisfy { $0 is NSNumber } ? "integer" : "?"
                types[path, default: []].insert(array.isEmpty ? "array" : "array of \(kind)")
            case is String: types[path, default: []].insert("string")
            case let number as NSNumber: types[path, default: []].insert(String(cString: number.objCType) == "c" ? "boolean" : "integer")
            default: types[path, default: []].insert("?")
            }
        }
    }
}
