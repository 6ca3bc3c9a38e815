/// A word of a POSIX shell's command line.
enum ShellWord {
    /// The text, quoted if necessary.
    static func quote(_ text: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.,:=@+-")
        guard text.isEmpty || !text.allSatisfy(plain.contains) else { return text }
        return "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

/// A word of a systemd unit file. Source: systemd.service(5), "Command lines"; systemd.syntax(7).
enum UnitWord {
    /// The text for a description. Percent signs are escaped, because they begin a specifier.
    static func escape(_ text: String) -> String { text.replacing("%", with: "%%") }

    /// The text in quotes.
    ///
    /// - Parameter isArgument: whether a dollar sign would begin a variable. It does in every word but the first.
    static func quote(_ text: String, isArgument: Bool = false) -> String {
        let escaped = escape(text).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"" + (isArgument ? escaped.replacing("$", with: "$$") : escaped) + "\""
    }
}
