import Logging

/// Log messages as the command's own: `snapsync: warning: …` on standard error, from notices on.
struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        // A message that cannot be written is no reason to end the work that it is about.
        try? StandardStream.remark("\(event.level)", "\(event.message)" + (facts.isEmpty ? "" : " (\(facts))"))
    }
}
