import StrictText

/// A word of a systemd unit file. Source: systemd.service(5), "Command lines"; systemd.syntax(7).
enum UnitWord {
    /// The text for a description. Percent signs are escaped, because they begin a specifier.
    static func escape(_ text: String) -> String { text.escaping { $0 == UInt8(ascii: "%") ? "%%" : nil } }

    /// The text in quotes.
    ///
    /// - Parameter isArgument: whether a dollar sign would begin a variable. It does in every word but the first.
    static func quote(_ text: String, isArgument: Bool = false) -> String {
        let escaped = text.escaping { byte in
            switch byte {
            case UInt8(ascii: "%"): "%%"
            case UInt8(ascii: "\\"): "\\\\"
            case UInt8(ascii: "\""): "\\\""
            case UInt8(ascii: "$") where isArgument: "$$"
            default: nil
            }
        }
        return "\"" + escaped + "\""
    }
}
