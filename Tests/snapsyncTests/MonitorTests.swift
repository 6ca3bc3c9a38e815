import Foundation
import TestSupport
import Testing

/// What monitors get: OpenMetrics text with timestamps, and the line and the codes of a plug-in.
@Suite(.runsPrograms) struct MonitorTests {
    /// Reads OpenMetrics text strictly, as section "Overall Structure" of the specification has it; prints its samples as `name value timestamp`.
    private static let reader = #"""
        import re, sys
        text = open(sys.argv[1], encoding='utf-8').read()
        assert text.endswith('\n# EOF\n') and text.count('# EOF') == 1, 'the end'
        family, seen, types = None, set(), {}
        for line in text[:-len('# EOF\n')].splitlines():
            described = re.fullmatch(r'# (HELP|TYPE) (\S+) (.*)', line)
            if described:
                kind, name, rest = described.groups()
                if name != family:
                    assert name not in seen, 'two families ' + name
                    family = name
                    seen.add(name)
                if kind == 'TYPE': types[name] = rest
                continue
            sample = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (-?[0-9.eE+-]+) ([0-9.]+)', line)
            assert sample, line
            name = sample[1]
            assert name == family or types[family] == 'info' and name == family + '_info', (name, family)
            print(name, sample[3], sample[4])
        """#

    @Test func openMetricsHaveTimestampsAndAnEnd() throws {
        let scene = try Scene.phoneAndWatch()
        #expect(try scene.succeed("status watch.db --openmetrics watch.txt --prometheus watch.prom") == "")
        let samples = try Python.run(Self.reader, [scene.scratch.path("watch.txt")]).split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        // The same facts as in the other format, which has neither timestamps nor an end.
        let plain = String(decoding: try scene.scratch.read("watch.prom"), as: UTF8.self)
        let lines = plain.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == samples.count && !plain.contains("# EOF"))
        #expect(lines.allSatisfy { $0.split(separator: "}").last?.split(separator: " ").count == 1 })
        #expect(samples.contains { $0[0] == "snapsync_version" && $0[1] == "1" })
        let now = Date().timeIntervalSince1970
        #expect(samples.allSatisfy { (Double($0[2]) ?? 0) > now - 3600 && (Double($0[2]) ?? 0) < now + 3600 })
        #expect(Set(samples.map { $0[2] }).count == 1)
    }

    @Test func pluginSaysHowItIsInALineAndACode() throws {
        let scene = try Scene.phoneAndWatch()
        func check(_ words: String, code: Int32, _ begin: String, at location: SourceLocation = #_sourceLocation) throws {
            let run = try scene.run("status \(words) --strict --nagios")
            #expect(run.status == code && run.errorText == "", "\(run.text)\(run.errorText)", sourceLocation: location)
            #expect(run.text.hasPrefix(begin) && run.text.split(separator: "\n").count == 1, "\(run.text)", sourceLocation: location)
        }
        try check("watch.db --max-age 1d", code: 0, "SNAPSYNC OK - version 1, last success ")
        let line = try scene.succeed("status watch.db --strict --nagios --max-age 1d")
        let figures = #"\| age=[0-9]+s;;86400;0 version=1 behind=0;;;0 pending=0;;;0 conflicts=0;;;0\n$"#
        #expect(line.range(of: figures, options: .regularExpression) != nil, "\(line)")
        try check("watch.db", code: 3, "SNAPSYNC UNKNOWN - the greatest age of the last success is not set; version 1")
        try check("none.db --max-age 1d", code: 3, "SNAPSYNC UNKNOWN - none.db: ")
        try scene.database("watch.db").run(
            "UPDATE snapsync_state SET value = json_quote(strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-52 minutes')) WHERE key = 'lastSuccess'")
        try check("watch.db --max-age 45m", code: 2, "SNAPSYNC CRITICAL - the last success is 52 min old, more than 45 min; ")
        // A cloud that is away for a moment is a warning while the last success is recent enough.
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        try check("watch.db --max-age 1d", code: 1, "SNAPSYNC WARNING - the directory cannot be opened")
        try FileManager.default.moveItem(atPath: scene.scratch.path("away"), toPath: scene.scratch.path("cloud"))
        try scene.succeed("config set watch.db sync off")
        try check("watch.db --max-age 1d", code: 1, "SNAPSYNC WARNING - not synced: ")
    }
}
