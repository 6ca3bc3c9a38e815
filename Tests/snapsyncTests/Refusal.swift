import Foundation
import TestSupport
import Testing

extension Scene {
    /// Runs a command that must be refused: with this exit code, with one error that says where, what and what to do,
    /// nothing on standard output, and not a byte of the databases or the cloud changed.
    ///
    /// - Parameters:
    ///   - fragments: what the error must say, in any order.
    ///   - asJSONToo: whether the same is asked for as an object: once for each command and exit code is enough.
    func refuse(
        _ line: String, exit code: Int32, saying fragments: [String], environment: [String: String] = [:], watching databases: [String] = [],
        asJSONToo: Bool = false, at location: SourceLocation = #_sourceLocation
    ) throws {
        let databases = try databases.map { ($0, try database($0).dump()) }
        // An export may have begun a file when it finds what stops it; nothing of that may stay.
        let foldersToo = !line.hasPrefix("export")
        let cloud = scratch.exists("cloud") ? try FileListing(of: scratch.path("cloud"), foldersToo: foldersToo) : nil
        let run = try run(line, environment: environment)
        // What is known without the cloud is shown by status all the same.
        let showing = line.hasPrefix("status ") ? "the location was not looked at" : nil
        Self.checkRefusal(run, exit: code, saying: fragments, showing: showing, at: location)
        for (name, dump) in databases { #expect(try database(name).dump() == dump, "\(name) was changed", sourceLocation: location) }
        if let cloud { #expect(try FileListing(of: scratch.path("cloud"), foldersToo: foldersToo) == cloud, "the cloud was changed", sourceLocation: location) }

        guard asJSONToo, !line.hasPrefix("show ") else { return }
        // Programs get the same answer as an object.
        let json = try self.run(line + " --json", environment: environment)
        #expect(json.status == code, sourceLocation: location)
        #expect(json.output.isEmpty == (showing == nil), sourceLocation: location)
        let document = try JSONSerialization.jsonObject(with: json.errors) as? [String: [String: Any]]
        let error = try #require(document?["error"], sourceLocation: location)
        #expect(error["exitCode"] as? Int32 == code, sourceLocation: location)
        #expect(error["isRetryable"] as? Bool == (code == 75), sourceLocation: location)
    }

    /// Checks the shape of an error for people: `snapsync COMMAND: PLACE: REASON`, or with 78 `snapsync COMMAND: refused: PLACE: REASON`, then
    /// `  hint: WHAT TO DO`.
    ///
    /// - Parameter showing: what standard output must say; nil: nothing at all.
    static func checkRefusal(
        _ run: ProgramRun, exit code: Int32, saying fragments: [String], showing: String? = nil, at location: SourceLocation = #_sourceLocation
    ) {
        #expect(run.status == code, "\(run.errorText)", sourceLocation: location)
        #expect(showing.map { run.text.contains($0) } ?? (run.text == ""), "\(run.text)", sourceLocation: location)
        let lines = run.errorText.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines.last == "", "not two lines: \(run.errorText)", sourceLocation: location)
        let head = lines.first?.firstMatch(of: #/^snapsync(?:-examples)?(?: [a-z-]+)+:( refused:)? /#)
        #expect(head != nil && (head?.1 != nil) == (code == 78), "\(run.errorText)", sourceLocation: location)
        #expect(lines.dropFirst().first?.hasPrefix("  hint: ") == true, "no hint: \(run.errorText)", sourceLocation: location)
        for fragment in fragments {
            #expect(run.errorText.contains(fragment), "does not say '\(fragment)': \(run.errorText)", sourceLocation: location)
        }
    }
}
