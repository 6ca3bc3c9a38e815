import Foundation
import Logging

/// What the rooms log, on standard error: errors only, unless SNAPSYNC_LOG names another level (`debug`, `info`, `warning`, …).
enum CommandLog {
    static func start() {
        let level = ProcessInfo.processInfo.environment["SNAPSYNC_LOG"].flatMap(Logger.Level.init(rawValue:)) ?? .error
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
    }
}
