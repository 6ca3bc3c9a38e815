import Foundation
import TestSupport
import Testing

/// What the tests of `snapsync status` look at a page with.
struct PageFile {
    /// The page's path.
    let path: String
    let text: String

    init(_ path: String) throws {
        self.path = path
        text = try String(contentsOfFile: path, encoding: .utf8)
    }

    /// What is wrong with the page's structure, by an independent parser.
    func faults() throws -> String { try ProgramRun("python3", ["\(Self.scripts)/structure.py", path]).text }

    /// The text of the page as a person reads it, without its style sheet and its marks.
    func words() throws -> String {
        try Python.run(
            """
            import html.parser, sys
            class Words(html.parser.HTMLParser):
                skips = False
                def handle_starttag(self, tag, attributes): self.skips = tag == 'style'
                def handle_endtag(self, tag): self.skips = False
                def handle_data(self, data): print('' if self.skips else data, end=' ')
            sys.stdout.reconfigure(encoding='utf-8', errors='surrogateescape')
            Words().feed(open(sys.argv[1], encoding='utf-8').read())
            """, [path]
        ).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Whether a browser is here; `make test-page` installs one and must find it.
    static let hasBrowser: Bool = {
        let isWanted = ProcessInfo.processInfo.environment["SNAPSYNC_BROWSER"] == "1"
        guard let run = try? ProgramRun("python3", ["\(scripts)/browser.py", "--install"]) else { return isWanted }
        guard run.status == 77, !isWanted else { return true }
        print("tests of pages in a browser are skipped (make test-page installs one): \(run.errorText)")
        return false
    }()

    static let scripts = Repository.path("Tests/Page")
}

extension Scene {
    /// Writes the page with the words of a line, checks its structure, and returns it.
    func page(_ line: String, exit code: Int32 = 0, at location: SourceLocation = #_sourceLocation) throws -> PageFile {
        let run = try run("status --html page.html \(line)")
        try #require(run.status == code, "\(run.text)\(run.errorText)", sourceLocation: location)
        let page = try PageFile(scratch.path("page.html"))
        #expect(try page.faults() == "", sourceLocation: location)
        return page
    }
}
