/// The names of tables in comma-separated lists.
///
/// A name in double quotes, as in SQL, may contain commas. In quotes, `all` and `none` are names like any other.
struct TableNames {
    /// The names, without quotes.
    private(set) var names: [String] = []
    /// The word that stands alone and unquoted; nil if there are several names, or a quoted one.
    private(set) var word: String?

    init(_ lists: [String]) {
        var quoted = false
        for list in lists {
            var name = String.UnicodeScalarView(), isQuoted = false, wasQuoted = false
            func end() {
                let text = String(wasQuoted ? name : String.UnicodeScalarView(name.drop { $0 == " " }))
                if wasQuoted || !text.isEmpty { names.append(text) }
                quoted = quoted || wasQuoted
                (name, wasQuoted) = (.init(), false)
            }
            // By scalars: a mark that combines with a quotation mark or comma takes nothing from it.
            var rest = list.unicodeScalars[...]
            while let scalar = rest.popFirst() {
                switch scalar {
                case "\"" where isQuoted && rest.first == "\"":
                    name.append("\"")
                    rest.removeFirst()
                case "\"" where isQuoted: isQuoted = false
                case "\"" where name.allSatisfy { $0 == " " } && !wasQuoted: (name, isQuoted, wasQuoted) = (.init(), true, true)
                case "," where !isQuoted: end()
                default: name.append(scalar)
                }
            }
            end()
        }
        if names.count == 1, !quoted { word = names[0] }
    }
}
