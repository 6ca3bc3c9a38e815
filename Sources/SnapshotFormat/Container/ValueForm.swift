/// How entities write values that JSON cannot express: as objects with one member.
///
/// Source: docs/format.md, "Values".
enum ValueForm {
    /// The beginning of the object for a blob, followed by base64 and a brace.
    static let blob: StaticString = "{\"base64\":"
    /// The beginning of the object for text that is not UTF-8, followed by base64 and a brace.
    static let text: StaticString = "{\"textBase64\":"
    /// The object for positive infinity.
    static let infinity: StaticString = "{\"real\":\"Infinity\"}"
    /// The object for negative infinity.
    static let minusInfinity: StaticString = "{\"real\":\"-Infinity\"}"

    /// The name of the object's one member.
    enum Member {
        case blob, text, real

        /// The member with this name, given as the bytes between the quotes; nil for any other name.
        init?(_ name: UnsafeRawBufferPointer) {
            if name.elementsEqual("base64".utf8) {
                self = .blob
            } else if name.elementsEqual("textBase64".utf8) {
                self = .text
            } else if name.elementsEqual("real".utf8) {
                self = .real
            } else {
                return nil
            }
        }
    }
}
