import CloudStore
import DirectoryCloud
import Foundation
import Platform
import SnapshotEngine
import SnapshotVersions
import StrictText
import SyncRuns

/// Findings about the directory: its file system, its clock, its free space and its foreign files.
enum DirectoryChecks {
    static func findings(_ directory: DirectoryFacts, _ zone: ZoneSurvey?, now: Instant) -> [DoctorReport.Finding] {
        fileSystem(directory) + space(directory, zone) + permission(directory) + probe(directory, now: now) + [events(directory)] + foreign(directory)
    }

    private static func fileSystem(_ directory: DirectoryFacts) -> [DoctorReport.Finding] {
        var findings: [DoctorReport.Finding] = []
        switch directory.fileSystem {
        case .failure(let error): findings.append(.error("fileSystem", error, means: "nothing is known of the file system"))
        case .success(let facts):
            findings.append(.ok("fileSystem", "\(directory.path) is on \(facts.name)"))
            if facts.remembersAbsence { findings.append(lookupCache) }
        }
        if directory.tool != nil || directory.isSaidReplicated {
            let found =
                directory.tool.map { "\($0.name) replicates the folder (\($0.sign))" } ?? "init was told that a tool replicates the folder (--replicated)"
            findings.append(
                .notice(
                    "replication", found, means: "versions come and go when the tool brings them, and only one device may publish here"))
        }
        return findings
    }

    private static let lookupCache = DoctorReport.Finding.notice(
        "lookupCache", "this NFS client remembers for up to a minute that a file was not there",
        means: "syncs ask the server before they look for versions; other programs find new files late",
        do: "where that matters, mount with the option lookupcache=positive")

    private static func space(_ directory: DirectoryFacts, _ zone: ZoneSurvey?) -> [DoctorReport.Finding] {
        guard let facts = try? directory.fileSystem.get() else { return [] }
        let needed = 2 * (zone?.newestByteCount ?? 0)
        guard facts.freeByteCount < max(needed, 1 << 20) else { return [.ok("space", "\(Format.bytes(facts.freeByteCount)) are free")] }
        return [
            .warning(
                "space", code: .inputOutput, "\(Format.bytes(facts.freeByteCount)) are free, and the newest version has \(Format.bytes(needed / 2))",
                means: "the next version may not find room; then nothing is published and nothing is lost",
                do: "make room, or run: snapsync prune --keep-last 10")
        ]
    }

    private static func permission(_ directory: DirectoryFacts) -> [DoctorReport.Finding] {
        guard directory.publishes else {
            guard !directory.forbidden.isEmpty else { return [] }
            let folders = Set(directory.forbidden).sorted().joined(separator: ", ")
            return [
                .warning(
                    "permission", code: .permissionDenied, "this user may not write in \(folders)",
                    means: "versions are imported, but the publisher is not told what is changed here, and no device sees what this one has",
                    do: "give this user the right to write there: chmod, chown, or the mount's options")
            ]
        }
        if let facts = try? directory.fileSystem.get(), facts.isReadOnly, directory.probe != nil || !directory.forbidden.isEmpty {
            return [
                .error(
                    "permission", code: .permissionDenied, "\(directory.path) is mounted read-only", means: "this device cannot publish",
                    do: "mount it so that it can be written")
            ]
        }
        guard !directory.forbidden.isEmpty else { return directory.probe == nil ? [] : [.ok("permission", "this device may write where it publishes")] }
        return [
            .error(
                "permission", code: .permissionDenied, "this user may not write in \(directory.forbidden.joined(separator: ", "))",
                means: "this device cannot publish",
                do: "give this user the right to write there: chmod, chown, or the mount's options")
        ]
    }

    private static func probe(_ directory: DirectoryFacts, now: Instant) -> [DoctorReport.Finding] {
        guard let probe = directory.probe else { return [] }
        switch probe {
        case .failure(let error):
            return [.error("probe", error, means: "what the file system can do could not be tried out, and publishing will fail in the same way")]
        case .success(let probe): return [placement(probe), durability(probe), letterCase(probe), clock(probe.clock, now: now)]
        }
    }

    static func placement(_ probe: DirectoryProbe) -> DoctorReport.Finding {
        let ways = [
            (probe.hasNamelessFiles, "files without a name"), (probe.hasHardLinks, "hard links"), (probe.hasExclusiveRename, "renaming without replacing"),
        ]
        let has = ways.filter(\.0).map(\.1).joined(separator: ", "), lacks = ways.filter { !$0.0 }.map(\.1).joined(separator: ", ")
        guard probe.canPublish else {
            return .error(
                "placement", code: .inputOutput, "the file system can neither link a file nor rename it without replacing another",
                means: "two devices could take one version's number, so nothing is published",
                do: "put the location on another file system; docs/cloud-directory.md lists those that work")
        }
        guard !probe.hasNamelessFiles else { return .ok("placement", "the file system has \(has)") }
        return .notice(
            "placement", "the file system has \(has), and lacks \(lacks)",
            means: "versions are published safely; a killed run leaves temporary files, which a later one sweeps after a day")
    }

    static func durability(_ probe: DirectoryProbe) -> DoctorReport.Finding {
        guard let failure = probe.synchronizeFailure else { return .ok("durability", "files and directories can be made durable") }
        return .error(
            "durability", code: .inputOutput, "fsync fails: \(failure)", means: "a power cut could take what was published, so nothing is",
            do: "check the disk and the mount, or put the location on another file system")
    }

    static func letterCase(_ probe: DirectoryProbe) -> DoctorReport.Finding {
        guard !probe.isCaseSensitive else { return .ok("letterCase", "names that differ in case alone are different names") }
        return .notice("letterCase", "names that differ in case alone are one name here", means: "devices and zones need names that differ in more than case")
    }

    static func clock(_ clock: Instant, now: Instant) -> DoctorReport.Finding {
        let seconds = Int((now.microseconds - clock.microseconds) / 1_000_000)
        let offset = "this device's clock is \(AgeText.words(seconds: abs(seconds))) \(seconds < 0 ? "behind" : "ahead of") the directory's"
        switch abs(seconds) {
        case ..<60: return .ok("clock", "this device's clock and the directory's agree")
        case ..<86_400:
            return .warning(
                "clock", code: .refused, offset, means: "of two edits of one entity the wrong one may count as the later", do: "set the clock that is wrong")
        default: return .error("clock", code: .refused, offset, means: "a clock that is a day off does not publish", do: "set the clock that is wrong")
        }
    }

    private static func events(_ directory: DirectoryFacts) -> DoctorReport.Finding {
        guard let reason = directory.polling else { return .ok("events", "a watch is told of changes by inotify") }
        return .notice("events", reason, means: "a watch finds changes by polling", do: "where that is too late: snapsync watch --poll 10s")
    }

    private static func foreign(_ directory: DirectoryFacts) -> [DoctorReport.Finding] {
        guard case .success(let files) = directory.foreign else {
            if !directory.unreadable.isEmpty {
                return [
                    .error(
                        "foreignFiles", code: .permissionDenied,
                        NameList.words(directory.unreadable, "file that this user cannot read", many: "files that this user cannot read"),
                        means: "another user's run has left them, with sudo perhaps, and no version from there on can be read",
                        do: "chown -R \"$(id -un)\" \(directory.path.shellWord), as root")
                ]
            }
            if case .failure(let error) = directory.foreign { return [.error("foreignFiles", error, means: "the directory cannot be listed")] }
            return []
        }
        guard !files.isEmpty else { return [.ok("foreignFiles", "no file is there that is not the location's")] }
        func named(_ kind: ForeignFile.Kind) -> [String] { files.filter { $0.kind == kind }.map(\.path) }
        var findings: [DoctorReport.Finding] = []
        let aside = named(.conflictCopy), odd = named(.notPlain), left = named(.probe), other = named(.other)
        if !aside.isEmpty {
            findings.append(
                .notice(
                    "conflictCopies", NameList.words(aside, "conflict copy", many: "conflict copies"),
                    means:
                        "a tool that replicates folders put them aside; no reader follows them. One in commits/ is a version of a device that published in another copy",
                    do: "sync every device, then remove them"))
        }
        if !odd.isEmpty {
            findings.append(
                .error(
                    "foreignFiles", code: .dataRefused, NameList.words(odd, "name that is no plain file", many: "names that are no plain files"),
                    means: "somebody has put something else where a file should be; it is never opened", do: "take it away, and bring the file back from a copy"
                ))
        }
        if !left.isEmpty {
            findings.append(
                .notice(
                    "foreignFiles", NameList.words(left, "folder of a killed doctor", many: "folders of killed doctors"), means: "nothing needs them",
                    do: "remove them"))
        }
        let damaged = named(.setAside)
        if !damaged.isEmpty {
            findings.append(
                .notice(
                    "setAside", NameList.words(damaged, "damaged file that repair has set aside", many: "damaged files that repair has set aside"),
                    means: "readers ignore them", do: "remove them once snapsync check --all-versions finds nothing"))
        }
        if !other.isEmpty {
            findings.append(
                .notice(
                    "foreignFiles", NameList.words(other, "file that is not the location's", many: "files that are not the location's"),
                    means: "readers ignore them", do: "take them away if nobody needs them"))
        }
        return findings
    }
}

/// The facts about a cloud's directory.
struct DirectoryFacts: Sendable {
    let path: String
    let fileSystem: DoctorFacts.Look<FileSystemFacts>
    /// The tool that replicates the folder, and what shows that; nil if there is none.
    let tool: (name: String, sign: String)?
    /// Whether the user said at `init` that a tool replicates the directory.
    var isSaidReplicated = false
    /// Why file events are not reliable here, so that the directory is polled; nil if they are.
    let polling: String?
    /// What the file system can do; nil if that is not probed, for example because the device does not publish.
    var probe: DoctorFacts.Look<DirectoryProbe>?
    /// The directories of the zone to which this device needs to write and cannot; relative to the cloud's directory.
    var forbidden: [String] = []
    /// The files of the zone that this user cannot read; relative to the cloud's directory.
    var unreadable: [String] = []
    /// Whether the device publishes. A reader writes only messages and reports.
    let publishes: Bool
    var foreign: DoctorFacts.Look<[ForeignFile]> = .success([])

    /// Collects the facts about a directory.
    ///
    /// - Parameters:
    ///   - publishes: whether the device publishes.
    ///   - triesOut: whether to probe the file system in a folder that is removed afterwards.
    ///   - device: the device's name; nil without a database.
    init(_ cloud: DirectoryCloud, zone: ZoneID, publishes: Bool, triesOut: Bool, device: String?) async {
        path = cloud.path
        self.publishes = publishes
        fileSystem = await DoctorFacts.look(.open) { try FileSystemFacts(ofDirectory: cloud.path) }
        tool = ReplicatedFolder.tool(of: cloud.path)
        polling = ZoneEvents(cloud: cloud.path, zone: zone) { _ in }.arm()
        guard (try? await cloud.zone(zone)) != nil else { return }
        unreadable =
            FileManager.default.enumerator(atPath: "\(cloud.path)/\(zone)")?.compactMap { $0 as? String }.map { "\(zone)/\($0)" }
            .filter { FileAccess.read.refusal("\(cloud.path)/\($0)")?.isForbidden == true } ?? []
        foreign = await DoctorFacts.look(.fetch) { try await cloud.foreignFiles(in: zone) }
        guard let device else { return }
        func isForbidden(_ folder: String) -> Bool { !FileSystemFacts.isWritable("\(cloud.path)/\(folder)") }
        guard publishes else {
            // If the device's own folder does not exist yet, it is created in the folder above, so that one must be writable.
            forbidden = [CloudNames.messages, CloudNames.devices].map { kind -> String in
                let own = "\(zone)/\(kind)/\(device)", all = "\(zone)/\(kind)"
                return [own, all].first { FileSystemFacts.isThere("\(cloud.path)/\($0)") } ?? "\(zone)"
            }.filter(isForbidden)
            return
        }
        let folders = ["", CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.devices].map { "\(zone)" + ($0.isEmpty ? "" : "/\($0)") }
        forbidden = folders.filter(isForbidden)
        // The probe writes, so it is skipped if a folder is not writable.
        if forbidden.isEmpty, triesOut { probe = await DoctorFacts.look(.store) { try await cloud.probe(zone) } }
    }
}
