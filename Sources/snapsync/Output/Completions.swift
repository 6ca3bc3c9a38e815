import ArgumentParser
import SnapshotSync
import StrictText

/// Shell completions for arguments: names and numbers that the database or its cloud contains.
///
/// A completion changes nothing and reports no errors: if the database or the cloud cannot be read, it offers nothing. Bash expands what it is
/// offered, including commands in `$(…)`, and anyone may have chosen a name in a cloud. So only names of letters, digits, `-`, `_` and `.` are
/// offered.
enum Completions {
    /// The zone's versions, newest first.
    static let versions = CompletionKind.custom { words, _, _ in
        await candidates(words) { try await $0.inspector().history(limit: 100).versions.map { String($0.version) } }
    }

    /// The database's datasets, or the zone's records if only a cloud is given.
    static let datasets = CompletionKind.custom { words, _, _ in
        await candidates(words) { look in
            if look.isCloudAlone { return try await look.inspector().zoneStatus().records.map(\.record) }
            return try await look.database.engine().status().datasets.map(\.name)
        }
    }

    /// The devices in the zone's list.
    static let devices = CompletionKind.custom { words, _, _ in
        await candidates(words) { try await $0.inspector().zoneStatus().devices.map(\.device) }
    }

    /// The open entries of the conflict journal.
    static let conflicts = CompletionKind.custom { words, _, _ in
        await candidates(words) { look in try SyncEngine.ofCommand(database: look.database.file.path()).conflicts(all: false).conflicts.map { String($0.id) } }
    }

    /// Calls `names` with the database and the cloud that the command line so far (`words`) names; returns [] if it throws.
    private static func candidates(_ words: [String], _ names: (LookOptions) async throws -> [String]) async -> [String] {
        do {
            return try await names(LookOptions.parse(places(in: words))).filter(isPlain)
        } catch {
            return []
        }
    }

    /// Whether a shell would use the name unchanged.
    static func isPlain(_ name: String) -> Bool {
        name.unicodeScalars.allSatisfy { $0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_.".unicodeScalars.contains($0) }
            && !name.exact.hasPrefix("-")
    }

    /// The options in `words` that say where to look. The shell passes them unexpanded, so `~/` is expanded here.
    private static func places(in words: [String]) -> [String] {
        words.indices.flatMap { index -> [String] in
            let parts = words[index].exact.split(separator: "=", maxSplits: 1)
            guard let name = parts.first, ["--db", "--cloud", "--zone"].contains(name) else { return [] }
            guard let value = parts.count == 2 ? parts[1] : words.dropFirst(index + 1).first, !value.isEmpty else { return [] }
            guard value.exact.hasPrefix("~/"), let home = DatabaseOptions.environment("HOME") else { return [name, value] }
            return [name, home + value.dropFirst(1)]
        }
    }
}
