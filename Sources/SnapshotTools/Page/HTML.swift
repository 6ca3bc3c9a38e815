import StrictText

/// A fragment of an HTML document, well-formed by construction.
///
///     HTML.element(.p, .class("note")) { "5 < 6" }        // <p class="note">5 &lt; 6</p>
///
/// Text is always escaped, and control characters are made visible. Only the elements and attributes listed here exist: there are no scripts,
/// frames or event handlers, and a link can only lead to an element of the same document. So text from a cloud can never become markup.
struct HTML: Sendable {
    /// The markup, in UTF-8.
    private(set) var markup = ""

    /// An empty fragment.
    init() {}

    /// A text fragment; escapes the text.
    init(_ text: String) { markup = Self.escape(text) }

    private init(markup: String) { self.markup = markup }

    enum Element: String {
        case body, code, dd, desc, details, div, dl, dt, figcaption, figure, footer, g, h1, h2, h3, head, header, html, label, li, main, nav,
            p, rect, section, small, span, summary, svg, table, tbody, td, th, thead, time, title, tr, ul
        case path
        case link = "a"
    }

    /// An attribute with its value; the value is escaped.
    struct Attribute {
        fileprivate let name: String
        fileprivate let value: String

        enum Name: String {
            case `class`, id, lang, role, scope, tabindex, datetime, viewBox, preserveAspectRatio, x, y, width, height, d, colspan
            case label = "aria-label"
            case labelledBy = "aria-labelledby"
            case hidden = "aria-hidden"
            case versions = "data-versions"
            case bytes = "data-bytes"
            case `for`
        }

        static func set(_ name: Name, _ value: String) -> Attribute { Attribute(name: name.rawValue, value: value) }
        static func `class`(_ value: String) -> Attribute { set(.class, value) }
        static func id(_ value: String) -> Attribute { set(.id, value) }
        /// A link to the element with this id in the same document.
        static func to(_ id: String) -> Attribute { Attribute(name: "href", value: "#" + id) }
    }

    static func element(_ element: Element, _ attributes: Attribute..., @Builder content: () -> HTML = { HTML() }) -> HTML {
        HTML(markup: "<\(element.rawValue)\(text(of: attributes))>\(content().markup)</\(element.rawValue)>")
    }

    /// Several fragments in sequence.
    static func group(@Builder _ content: () -> HTML) -> HTML { content() }

    /// A read-only line of text for copying.
    static func field(id: String, _ value: String) -> HTML {
        HTML(markup: "<input type=\"text\" readonly spellcheck=\"false\" id=\"\(escape(id))\" value=\"\(escape(value))\">")
    }

    /// A whole document.
    ///
    /// - Parameters:
    ///   - style: a style sheet of the program's own.
    ///   - policy: the Content-Security-Policy.
    static func document(title: String, style: StaticString, policy: String, @Builder body: () -> HTML) -> HTML {
        HTML(
            markup: """
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="utf-8">
                <meta http-equiv="Content-Security-Policy" content="\(escape(policy))">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <meta name="referrer" content="no-referrer">
                <title>\(escape(title))</title>
                <style>\(style)</style></head>
                <body>\(body().markup)</body></html>

                """)
    }

    private static func text(of attributes: [Attribute]) -> String {
        attributes.map { " \($0.name)=\"\(escape($0.value))\"" }.joined()
    }

    private static func escape(_ text: String) -> String {
        VisibleText.escape(text).escaping { byte in
            switch byte {
            case UInt8(ascii: "&"): "&amp;"
            case UInt8(ascii: "<"): "&lt;"
            case UInt8(ascii: ">"): "&gt;"
            case UInt8(ascii: "\""): "&quot;"
            case UInt8(ascii: "'"): "&#39;"
            default: nil
            }
        }
    }

    /// Concatenates fragments; plain strings among them are escaped.
    @resultBuilder
    enum Builder {
        static func buildExpression(_ text: String) -> HTML { HTML(text) }
        static func buildExpression(_ piece: HTML) -> HTML { piece }
        static func buildExpression(_ pieces: [HTML]) -> HTML { buildArray(pieces) }
        static func buildBlock(_ pieces: HTML...) -> HTML { buildArray(pieces) }
        static func buildOptional(_ piece: HTML?) -> HTML { piece ?? HTML() }
        static func buildEither(first: HTML) -> HTML { first }
        static func buildEither(second: HTML) -> HTML { second }
        static func buildArray(_ pieces: [HTML]) -> HTML { HTML(markup: pieces.map(\.markup).joined()) }
    }
}
