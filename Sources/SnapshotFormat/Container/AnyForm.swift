/// How a column of type `any` says values for which JSON has no form: objects of one member.
///
/// Source: docs/format.md, "Columns of type any".
enum AnyForm {
    /// The beginning of the object for bytes; base64 and a brace follow.
    static let blob: StaticString = "{\"base64\":"
    /// The beginning of the object for text that is not UTF-8; base64 and a brace follow.
    static let text: StaticString = "{\"textBase64\":"
    /// The object for the positive infinite number.
    static let infinity: StaticString = "{\"real\":\"Infinity\"}"
    /// The object for the negative infinite number.
    static let minusInfinity: StaticString = "{\"real\":\"-Infinity\"}"

    /// What the one member of such an object is named.
    enum Member {
        case blob, text, real

        /// The member of a name as it stands between its quotes; nil for any other name.
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
