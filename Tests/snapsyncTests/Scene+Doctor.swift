import Foundation
import TestSupport
import Testing

/// What `check --json` says.
struct Diagnosis: Decodable {
    struct Finding: Decodable {
        let id: String
        let severity: String
        let found: String
        let meaning: String?
        let remedy: String?
        let code: String?
    }

    let findings: [Finding]
    let worst: String?

    /// The findings that are not ok, as `severity id`.
    var notable: [String] { findings.filter { $0.severity != "ok" }.map { "\($0.severity) \($0.id)" } }

    /// The findings of that name.
    func about(_ id: String) -> [Finding] { findings.filter { $0.id == id } }
}

extension Scene {
    /// Runs `check --json`, which must end with that code and say nothing on standard error.
    func doctor(_ line: String, exit status: Int32, at location: SourceLocation = #_sourceLocation) throws -> Diagnosis {
        let run = try run("check \(line) --json")
        #expect(run.status == status, "\(run.text)\(run.errorText)", sourceLocation: location)
        #expect(run.errorText == "", sourceLocation: location)
        return try JSONDecoder().decode(Diagnosis.self, from: run.output)
    }

    /// Sees that `check` finds one thing of that name and ends with that code, and that each sentence has its words.
    func expectFinding(
        _ severity: String, _ id: String, _ line: String, exit status: Int32, saying words: [String], remedy: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let diagnosis = try doctor(line, exit: status, at: location)
        let found = diagnosis.about(id).filter { $0.severity == severity }
        #expect(found.count == 1, "\(diagnosis.notable)", sourceLocation: location)
        guard let finding = found.first else { return }
        for word in words { #expect(finding.found.contains(word), "\(finding.found)", sourceLocation: location) }
        #expect(finding.meaning?.isEmpty == false && (finding.code != nil) == (severity != "notice"), sourceLocation: location)
        if let remedy { #expect(finding.remedy?.contains(remedy) == true, "\(finding.remedy ?? "nil")", sourceLocation: location) }
    }
}
