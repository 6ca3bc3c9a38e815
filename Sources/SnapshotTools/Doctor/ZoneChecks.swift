import CloudStore
import DirectoryCloud
import SnapshotEngine
import SnapshotVersions
import StrictText
import SyncRuns

/// Findings about a zone: its commits, assets, leftover files and devices.
enum ZoneChecks {
    static func findings(_ zone: ZoneSurvey, own device: String?, at place: String, now: Instant) -> [DoctorReport.Finding] {
        let many = zone.info.publishers == .many
        var findings: [DoctorReport.Finding] = [
            .ok("zone", "the zone \(zone.info.id.name) is there, and \(many ? "every peer publishes in it" : "\(zone.info.creator) publishes in it")")
        ]
        findings +=
            commits(zone, at: place) + gaps(zone, at: place) + assets(zone, at: place, now: now) + pins(zone, at: place)
            + leftovers(zone, at: place)
        return findings + members(zone, at: place) + histories(zone) + devices(zone, own: device, now: now)
    }

    /// Compares the signed reports of members with the versions in this store. If a reported version is different or missing here, the store may
    /// show devices different histories.
    private static func histories(_ zone: ZoneSurvey) -> [DoctorReport.Finding] {
        guard zone.info.isSigned, case .success(let reports) = zone.devices, case .success(let commits) = zone.commits, let newest = zone.newest else {
            return []
        }
        let hashes = Dictionary(commits.map { ($0.token.number, $0.token.hash) }, uniquingKeysWith: { first, _ in first })
        return reports.filter { $0.isMember == true }.compactMap { report in
            guard let token = report.token else { return nil }
            if let hash = hashes[token.number], hash != token.hash {
                return .warning(
                    "history", code: .dataRefused, "\(report.device) has another version \(token.number) than the one that is here",
                    means: "somebody has shown the two devices different histories, or two devices have published one number in two copies of the folder",
                    do: "compare snapsync log on both, and find out who can write the store")
            }
            guard token.number > newest else { return nil }
            return .notice(
                "history", "\(report.device) has version \(token.number), and the zone here ends with version \(newest)",
                means: "newer versions have not arrived here, or somebody keeps them back",
                do: "if that stays so, compare snapsync status on both devices")
        }
    }

    private static func members(_ zone: ZoneSurvey, at place: String) -> [DoctorReport.Finding] {
        guard zone.info.isSigned else { return [] }
        var findings: [DoctorReport.Finding] = []
        if let signature = zone.signature {
            let asks = signature.requests
            findings.append(
                asks == 0
                    ? .ok("members", "the zone is \(signature.sentence)")
                    : .notice(
                        "members", "\(Format.count(asks, "device asks", or: "devices ask")) to be a member of the signed zone",
                        means: "until then what \(Format.word(asks, "it sends", or: "they send")) is refused",
                        do: "compare the words on a member that publishes: snapsync zone members \(place)"))
            if signature.fingerprint != nil, signature.role == nil {
                findings.append(
                    .notice(
                        "membership", "this device is no member of the signed zone", means: "it reads the zone, and what it sends is refused",
                        do: "on a member that publishes: snapsync zone members"))
            }
        }
        switch zone.keys {
        case .success(let path): findings.append(.ok("keys", "the private keys of this device are in \(path)"))
        case .failure(let error): findings.append(.error("keys", error, means: "nothing can be published or sent, for nothing is written unsigned"))
        case nil: break
        }
        return findings
    }

    private static func commits(_ zone: ZoneSurvey, at place: String) -> [DoctorReport.Finding] {
        if case .failure(let error) = zone.state {
            guard zone.gaps.isEmpty else { return [] }
            return [.error("commits", error, means: "the newest version cannot be known, so nothing is imported or published")]
        }
        if case .failure(let error) = zone.commits { return [.error("commits", error, means: "the newest version can be read, older ones cannot")] }
        guard let newest = zone.newest else {
            return [
                .notice(
                    "commits", "nothing has been published yet", means: "a reader has nothing to import", do: "run snapsync sync on a device that publishes")
            ]
        }
        var findings: [DoctorReport.Finding] = [.ok("commits", "version \(newest) is the newest, and the commits up to it follow one another")]
        if let rollback = zone.rollback {
            let accept = "if version \(newest) is what you want: snapsync import \(place) --accept-rollback \(newest)"
            findings.append(
                .error(
                    "rollback", code: .dataRefused, "\(rollback.place): \(rollback.reason)",
                    means:
                        "an older copy of the directory was put back, another one stands in its place, or another device has published this number in a copy of it; this database takes nothing from it",
                    do: "bring the right copy back; \(accept)"))
        }
        return findings
    }

    private static func gaps(_ zone: ZoneSurvey, at place: String) -> [DoctorReport.Finding] {
        let gaps = zone.gaps
        guard !gaps.isEmpty else { return [.ok("gaps", "no commit is missing between others")] }
        let names = NameList.words(gaps.map(String.init), "commit is missing", many: "commits are missing")
        if case .success = zone.state, case .success = zone.commits {
            return [
                .notice(
                    "gaps", names, means: "they were pruned, and older ones are still there; no kept version needs them",
                    do: "run: snapsync prune --keep-last 10")
            ]
        }
        return [
            .error(
                "gaps", code: .dataRefused, names,
                means: "a device that has not read later versions cannot import any more, and none can join; the others still sync",
                do: "if a sync tool is bringing files, wait for it; else run: snapsync repair \(place), or bring them back from a copy of the directory")
        ]
    }

    private static func assets(_ zone: ZoneSurvey, at place: String, now: Instant) -> [DoctorReport.Finding] {
        guard let state = try? zone.state.get(), let files = try? zone.files.get(), let newest = state.token?.number else { return [] }
        let found = Dictionary(files.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        var missing: [String] = [], arriving: [String] = [], wrong: [String] = []
        for asset in state.records.flatMap(\.assets) {
            for (path, size) in [(asset.path, asset.byteCount)] + (asset.index.map { [(AssetPath(asset.path)?.indexPath ?? asset.path, $0.byteCount)] } ?? []) {
                guard let file = found[path] else {
                    missing.append(path)
                    continue
                }
                if file.byteCount < size, ArrivingFile.isYoung(file.modified, now: now) {
                    arriving.append(path)
                } else if file.byteCount != size {
                    wrong.append(path)
                }
            }
        }
        let mend = "run: snapsync repair \(place); what that cannot mend, snapsync export --full on the device that publishes makes anew"
        var findings: [DoctorReport.Finding] = []
        if !missing.isEmpty {
            findings.append(
                .warning(
                    "assets", code: .tryAgainLater,
                    NameList.words(missing, "file of version \(newest) is not there", many: "files of version \(newest) are not there"),
                    means: "readers wait for them and keep what they have",
                    do: "if a sync tool is bringing files, wait for it; else \(mend)"))
        }
        if !arriving.isEmpty {
            findings.append(
                .warning(
                    "assets", code: .tryAgainLater,
                    NameList.words(arriving, "file of version \(newest) is still arriving", many: "files of version \(newest) are still arriving"),
                    means: "readers wait for them and keep what they have",
                    do: "wait for the sync tool; \(ArrivingFile.limitSeconds / 60) minutes after its last write such a file counts as damaged"))
        }
        if !wrong.isEmpty {
            findings.append(
                .error(
                    "assets", code: .dataRefused,
                    NameList.words(
                        wrong, "file of version \(newest) has another size than its commit says",
                        many: "files of version \(newest) have other sizes than their commit says"),
                    means: "they are damaged, and nobody imports them", do: mend))
        }
        return findings.isEmpty ? [.ok("assets", "all files of version \(newest) are there, in their sizes")] : findings
    }

    private static func pins(_ zone: ZoneSurvey, at place: String) -> [DoctorReport.Finding] {
        guard case .success(let pins)? = zone.pins else {
            if case .failure(let error)? = zone.pins { return [.error("pins", error, means: "whether the pinned versions can be read is not known")] }
            return []
        }
        guard !pins.pins.isEmpty else { return [.ok("pins", "no version is pinned")] }
        var findings = pins.unreadable.map { one in
            DoctorReport.Finding.error(
                "pins", code: one.error.code, "\(one.error.place): \(one.error.reason)", means: "the pin keeps nothing; every other version can be read",
                do: one.error.hint)
        }
        findings += pins.withoutCheckpoint.map { pin in
            .warning(
                "pins", code: .dataRefused, "\(pin.checkpointIsMissing.place): \(pin.checkpointIsMissing.reason)",
                means: "the version can be read now, and not once its commit is pruned",
                do: "run: snapsync repair \(place)")
        }
        if let files = try? zone.files.get() {
            let there = Set(files.map(\.path))
            let missing = Dictionary(grouping: pins.records.filter { one in one.record.assets.contains { !there.contains($0.path) } }, by: \.version).keys
                .sorted()
            if !missing.isEmpty {
                findings.append(
                    .error(
                        "pins", code: .dataRefused, NameList.words(missing.map(String.init), "pinned version lacks a file", many: "pinned versions lack files"),
                        means: "they can no longer be read whole",
                        do: "run: snapsync repair \(place); what that cannot mend, let go: snapsync pin DB N --remove on a device that publishes"))
            }
        }
        return findings.isEmpty ? [.ok("pins", "the pinned versions can be read: \(pins.pins.map { String($0.version) }.joined(separator: ", "))")] : findings
    }

    private static func leftovers(_ zone: ZoneSurvey, at place: String) -> [DoctorReport.Finding] {
        guard let unneeded = zone.unneeded else { return [] }
        let files = unneeded.files + unneeded.waiting
        let orphans = files.filter { $0.kind != .temporary }, temporaries = files.filter { $0.kind == .temporary }
        func finding(_ id: String, _ files: [StoredFile], one: String, many: String, none: String, means meaning: String) -> DoctorReport.Finding {
            guard !files.isEmpty else { return .ok(id, none) }
            let size = Format.bytes(files.reduce(0) { $0 + $1.byteCount })
            return .notice(
                id, "\(NameList.words(files.map(\.path), one, many: many)) (\(size))", means: meaning,
                do: "snapsync prune --keep-last N removes those that are a day old; run it on a device that publishes")
        }
        return [
            finding(
                "orphans", orphans, one: "file that no commit names", many: "files that no commit names", none: "every asset is one that a commit names",
                means: "a run that was killed has left them, or one is working just now; nobody reads them"),
            finding(
                "temporaries", temporaries, one: "temporary file", many: "temporary files", none: "no temporary file is there",
                means: "a run that was killed has left them, or one is working just now"),
        ]
    }

    static func devices(_ zone: ZoneSurvey, own device: String?, now: Instant) -> [DoctorReport.Finding] {
        guard case .success(let reports) = zone.devices else {
            if case .failure(let error) = zone.devices { return [.error("devices", error, means: "what the other devices have is not known")] }
            return []
        }
        let others = reports.filter { $0.device != device }.map { StatusReport.OtherDevice($0, zone.versions, now: now) }
        let late = others.filter { $0.behind > 0 }
        guard !late.isEmpty else {
            return [
                .ok(
                    "devices",
                    others.isEmpty
                        ? "no other device has reported" : "the other devices have the newest version: \(others.map(\.device).joined(separator: ", "))")
            ]
        }
        return late.map { device in
            let versions = "\(device.device) (\(device.role)) is \(Format.count(device.behind, "version")) behind"
            guard device.reportAge > silence else {
                return .notice(
                    "devices", versions, means: "it has reported \(AgeText.words(seconds: device.reportAge)) ago, and its next sync brings it up to date")
            }
            return .warning(
                "devices", code: .tryAgainLater, "\(versions) and has been silent for \(AgeText.words(seconds: device.reportAge))",
                means: "it does not sync any longer; its own changes are not here either",
                do: "see that snapsync sync runs on it, or remove its folder devices/\(device.device) if it is gone for good")
        }
    }

    /// How long a device that is behind may send no report before that is a finding, in seconds: 7 days.
    static let silence = 7 * 86_400
}

/// The remaining data of a zone that a database has left because it was signed or sealed.
struct LeftZoneFacts: Sendable {
    private let zone: ZoneID
    private let next: ZoneID
    /// The number and total size of the assets that remain; nil if they cannot be listed.
    private let data: (count: Int, byteCount: Int)?
    /// The zone's successor, as the zone states it; nil if it states none.
    private let successor: ZoneSuccessor?
    private let isThere: Bool

    /// Reads a zone. Changes nothing.
    init(_ zone: ZoneID, before next: ZoneID, in cloud: CloudDatabase) async {
        (self.zone, self.next) = (zone, next)
        let files = try? await cloud.storedFiles(in: zone).filter { $0.assetPath != nil }
        data = files.map { ($0.count, $0.reduce(0) { $0 + $1.byteCount }) }
        do {
            _ = try await cloud.records(in: zone)
            (successor, isThere) = (nil, true)
        } catch let error as CloudError {
            (successor, isThere) = (error.successor, error.code != .zoneNotFound)
        } catch {
            (successor, isThere) = (nil, true)
        }
    }

    /// The facts as a finding.
    func finding(isSealed: Bool) -> DoctorReport.Finding {
        let id = "earlier"
        guard isThere else { return .ok(id, "zone \(zone.name), which this one goes on from, is gone") }
        guard successor != nil else {
            return .warning(
                id, code: .dataRefused, "zone \(zone.name) does not say any more that it goes on as zone \(next.name)",
                means:
                    "somebody has removed or replaced its last version: devices that are still there do not follow, and what is published there counts for nobody here",
                do: "bring its commits/ back from a copy, or move the devices by hand: snapsync detach, then snapsync init --zone \(next.name)")
        }
        guard let data, data.count > 0 else { return .ok(id, "zone \(zone.name), which this one goes on from, says so, and has no data") }
        return .notice(
            id,
            "zone \(zone.name), which this one goes on from, has \(Format.count(data.count, "file")) with data (\(Format.bytes(data.byteCount)))",
            means: isSealed ? "whoever can read the store can read them" : "they are not signed",
            do: "snapsync zone \(isSealed ? "encrypt" : "sign") --prune-old removes them, on a device that publishes and has left that zone")
    }
}
