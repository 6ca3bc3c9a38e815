import StrictText

// The columns `attachments`, `actions` and `tapAction` hold any JSON. Unexpected JSON there must not make a whole version unreadable, so their
// types decode what they can.

extension KeyedDecodingContainer {
    /// Text; a number or a boolean as its text; nil for anything else or a missing key.
    func tolerantText(_ key: Key) -> String? {
        if let text = try? decode(String.self, forKey: key) { return text }
        if let flag = try? decode(Bool.self, forKey: key) { return String(flag) }
        if let number = try? decode(Int64.self, forKey: key) { return String(number) }
        return (try? decode(Double.self, forKey: key)).map { String($0) }
    }

    /// True for `true` or 1; false for anything else or a missing key.
    func tolerantFlag(_ key: Key) -> Bool {
        (try? decode(Bool.self, forKey: key)) ?? ((try? decode(Int64.self, forKey: key)) == 1)
    }

    /// The elements that can be decoded; empty if the value is not an array.
    func tolerantList<T: Decodable>(_ key: Key) -> [T] {
        ((try? decode([Tolerant<T>].self, forKey: key)) ?? []).compactMap(\.value)
    }
}

/// A value, or nil if the JSON has another type.
private struct Tolerant<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) { value = try? Value(from: decoder) }
}

/// Any key of a JSON object, for files in which unknown keys are refused, because a misspelt key must not be ignored.
struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    /// Throws if an object has other keys than these.
    ///
    /// - Throws: `DecodingError`, naming the unknown key and the known ones.
    static func refuseUnknown(in decoder: any Decoder, known: Set<ExactText>) throws {
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue.exact) {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath + [key],
                    debugDescription: "the key is not known; known are \(known.sorted().map(\.text).joined(separator: ", "))"))
        }
    }
}
