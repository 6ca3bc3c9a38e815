import Logging

/// A log handler that writes messages in the command's form, `snapsync: warning: …`, to standard error, from level notice on.
struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        // If a log message cannot be written, the work continues.
        try? StandardStream.remark("\(event.level)", "\(event.message)" + (facts.isEmpty ? "" : " (\(facts))"))
    }
}
