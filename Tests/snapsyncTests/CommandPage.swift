import Foundation
import TestSupport
import Testing

/// The fields of each report in `docs/json.md`.
struct CommandPage {
    /// One field of a JSON report.
    struct Field: Hashable {
        /// `written[].name`.
        let path: String
        let type: String
        let isOptional: Bool
    }

    /// The fields of each report, by heading: `export --json`, `errors`.
    private(set) var fields: [String: [Field]] = [:]

    /// One line of a block marked `fields`: `version?  integer  the zone's newest`, or `...Shape`.
    private struct FieldLine {
        let depth: Int
        let name: String
        /// Empty for `...Shape`.
        let type: String
    }

    init() throws {
        let text = try String(contentsOf: Repository.root.appendingPathComponent("docs/json.md"), encoding: .utf8)
        var heading = ""
        var blocks: [String: [FieldLine]] = [:]
        var isInside = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("```") {
                isInside = line == "```fields"
            } else if isInside {
                let words = line.split(separator: " ").map(String.init)
                let depth = line.prefix { $0 == " " }.count
                blocks[heading, default: []].append(FieldLine(depth: depth, name: words[0], type: words.count > 1 ? words[1] : ""))
            } else if line.hasPrefix("#") {
                heading = Self.heading(line)
            }
        }
        for (heading, lines) in blocks where heading.hasSuffix("json") || heading == "Errors" {
            fields[heading.lowercased()] = Self.fields(lines[...], in: "", blocks)
        }
    }

    private static func heading(_ line: Substring) -> String { String(line.drop { $0 == "#" || $0 == " " }.replacing("`", with: "")) }

    /// The fields that lines stand for, with those of the shared shapes that the lines name.
    ///
    /// - Parameter prefix: the path of the object that has the fields, with its dot.
    private static func fields(_ lines: ArraySlice<FieldLine>, in prefix: String, _ shapes: [String: [FieldLine]]) -> [Field] {
        var found: [Field] = []
        var rest = lines
        while let line = rest.popFirst() {
            let children = rest.prefix { $0.depth > line.depth }
            rest = rest.dropFirst(children.count)
            if line.name.hasPrefix("...") {
                found += fields(shapes[String(line.name.dropFirst(3)), default: []][...], in: prefix, shapes)
                continue
            }
            let isOptional = line.name.hasSuffix("?"), isArray = line.type.hasSuffix("[]")
            let path = prefix + (isOptional ? String(line.name.dropLast()) : line.name)
            let type = isArray ? String(line.type.dropLast(2)) : line.type
            let shape = type.first?.isUppercase == true ? shapes[type] : nil
            found.append(Field(path: path, type: (isArray ? "array of " : "") + (shape == nil ? type : "object"), isOptional: isOptional))
            let inner = path + (isArray ? "[]." : ".")
            found += fields((shape ?? [])[...], in: inner, shapes) + fields(children, in: inner, shapes)
        }
        return found
    }
}

extension CommandPage {
    /// The differences between a JSON object and the fields under a heading, as sentences.
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
                func isAll<T>(_ type: T.Type) -> Bool { array.allSatisfy { $0 is T } }
                let kind = isAll(String.self) ? "string" : isAll(NSNumber.self) ? "integer" : isAll([Any].self) ? "array" : "?"
                types[path, default: []].insert(array.isEmpty ? "array" : "array of \(kind)")
            case is String: types[path, default: []].insert("string")
            case let number as NSNumber: types[path, default: []].insert(String(cString: number.objCType) == "c" ? "boolean" : "integer")
            default: types[path, default: []].insert("?")
            }
        }
    }
}
