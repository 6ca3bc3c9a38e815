import ArgumentParser
import SnapshotSync

extension SyncError {
    /// The process's exit code.
    var exitStatus: Int32 { code.exitStatus }
}

extension SyncError.Code {
    /// The codes that a command can end with.
    static let all: [SyncError.Code] = [.dataRefused, .nothingThere, .cloudUnavailable, .inputOutput, .tryAgainLater, .permissionDenied, .refused]

    /// The code behind an exit code; nil if the text is no exit code.
    static func ending(with exitCode: String) -> SyncError.Code? { all.first { String($0.exitStatus) == exitCode } }

    /// The process's exit code, following sysexits.h.
    var exitStatus: Int32 {
        switch self {
        case .dataRefused: 65
        case .nothingThere: 66
        case .cloudUnavailable: 69
        case .tryAgainLater: 75
        case .permissionDenied: 77
        case .refused: 78
        default: 74
        }
    }
}

extension Printer {
    /// Opens the engine for a database. An error is printed and ends the process with its code.
    func open(_ database: String, cloud: String?) throws -> SyncEngine {
        do {
            return try SyncEngine.ofCommand(database: database, cloud: cloud, logger: logger)
        } catch let error as SyncError {
            print(error)
            failed(error)
            throw ExitCode(error.exitStatus)
        }
    }

    /// Runs long work like ``run(_:)``, and shows its progress on a terminal.
    ///
    /// - Parameters:
    ///   - title: a word for the work, shown until a step reports its progress.
    ///   - body: gets the progress handler for the engine; nil if no progress is shown.
    func work(_ title: String, _ body: (ProgressHandler?) async throws -> Void) async throws {
        let line = isJSON || isQuiet ? nil : ProgressLine.begin(title)
        try await run {
            defer { line?.end() }
            try await body(line?.handler)
        }
    }

    /// Runs a command's work. An error is printed and ends the process with its code.
    func run(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SyncError {
            print(error)
            failed(error)
            throw ExitCode(error.exitStatus)
        }
    }
}
