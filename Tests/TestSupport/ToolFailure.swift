/// An independent tool that a test relies on did not do its part.
package struct ToolFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// The run's standard output, if it ended well.
    ///
    /// - Throws: ``ToolFailure`` with what the tool said.
    package static func check(_ run: ProgramRun, _ what: String) throws -> ProgramRun {
        guard run.status == 0 else { throw ToolFailure("\(what) ended with \(run.status): \(run.errorText)") }
        return run
    }
}
