import Foundation
import TestSupport
import Testing

/// The page of `snapsync status` in a real browser (`Tests/Page/browser.py`): Debian's Chromium. Its screenshots stay in `.build/pages`.
@Suite(.runsPrograms, .enabled(if: PageFile.hasBrowser)) struct PageBrowserTests {
    /// Names that would be markup, script or style, wherever text may stand.
    static let evil = [
        "<script>hacked=1</script>", "\"><img src=x onerror=hacked2=1>", "' onfocus='hacked3=1' autofocus='",
        "</title></style></textarea><svg onload=hacked4=1>",
        "javascript:hacked5=1", "&lt;script&gt;", "]]><!-- --!>", "\u{202E}gnp.exe\u{200B}", "{{7*7}}${7*7}",
    ]

    /// Opens a page.
    private func open(_ page: PageFile, as name: String) throws {
        let artefacts = Repository.root.appendingPathComponent(".build/pages")
        try FileManager.default.createDirectory(at: artefacts, withIntermediateDirectories: true)
        let copy = artefacts.appendingPathComponent("\(name).html")
        try Data(page.text.utf8).write(to: copy)
        let run = try ProgramRun("python3", ["\(PageFile.scripts)/browser.py", copy.path, artefacts.path])
        #expect(run.status == 0, "\(name): \(run.text)\(run.errorText)")
        for kind in ["wide", "narrow", "dark", "narrow-dark"] {
            #expect(FileManager.default.fileExists(atPath: artefacts.appendingPathComponent("\(name)-\(kind).png").path))
        }
    }

    @Test func pageIsReadableWideNarrowAndDark() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(2)
        try scene.database("watch.db").run("UPDATE notifications SET title = 'mine' WHERE id = (SELECT max(id) FROM notifications)")
        try open(try scene.page("watch.db --also cloud --also nowhere", exit: 69), as: "several")
    }

    @Test func hostileCloudRunsNoScript() throws {
        let scene = try Scene()
        let quoted = Self.evil.map { $0.replacing("'", with: "''") }
        try scene.database("shop.db").run("CREATE TABLE \"<b>t</b>\"(\"<i>id</i>\" TEXT PRIMARY KEY NOT NULL, \"\"\"><script>hacked6=1</script>\" TEXT)")
        for text in quoted { try scene.database("shop.db").run("INSERT INTO \"<b>t</b>\" VALUES('\(text)', '\(text)')") }
        try scene.succeed("init shop.db cloud --name shop")
        try scene.sync("shop")
        try scene.database("shop.db").run("UPDATE \"<b>t</b>\" SET \"\"\"><script>hacked6=1</script>\" = 'x' || \"\"\"><script>hacked6=1</script>\"")
        try scene.sync("shop")
        for (number, text) in Self.evil.enumerated() where !text.contains("/") {
            try scene.scratch.write("{}", to: "\(Scene.mainZone)/assets/\(text)-\(number)")
        }
        func open(_ line: String, as name: String, saying texts: [String]) throws {
            let run = try scene.run("status --html page.html \(line)")
            #expect([0, 65].contains(run.status), "\(run.errorText)")
            let page = try PageFile(scene.scratch.path("page.html"))
            #expect(try page.faults() == "")
            #expect(!page.text.contains("<script") && !page.text.contains("<img") && !page.text.contains("\u{202E}"))
            try self.open(page, as: name)
            let words = try page.words()
            for text in texts { #expect(words.contains(text), "\(text): \(words)") }
        }
        try open("cloud", as: "hostile", saying: [Self.evil[1]])
        try open("shop.db", as: "hostile-database", saying: [Self.evil[1]])
        // A commit or a report whose device has such a name is refused whole; the page says so.
        let report = scene.scratch.path(try scene.newest("devices/shop"))
        try CloudForgery.copyReport(report, as: [("<img src=x onerror=hacked8=1>", report)])
        try CloudForgery.rewriteCommit(scene.scratch.path(try scene.newest("commits")), "commit['device'] = '<script>hacked7=1</script>'")
        try open("shop.db --also cloud", as: "forged", saying: ["error", "a name is not allowed"])
    }
}
