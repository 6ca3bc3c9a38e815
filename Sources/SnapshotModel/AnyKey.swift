import StrictText

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
