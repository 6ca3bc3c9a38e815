import CloudStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// The findings of `doctor` that are not `ok`, the most important first.
struct FindingList {
    let zone: ZoneOverview

    /// How many findings of one kind are shown without unfolding.
    private static let limit = 10

    var html: HTML {
        let all = zone.doctor.findings, worth = all.filter { $0.severity != .ok }, fine = all.filter { $0.severity == .ok }
        var counts: [String: Int] = [:]
        let sorted = DoctorReport.Finding.Severity.allCases.reversed().flatMap { severity in worth.filter { $0.severity == severity } }
        let isFirst = sorted.map { finding in
            counts[finding.id, default: 0] += 1
            return counts[finding.id, default: 0] <= Self.limit
        }
        let shown = zip(sorted, isFirst).filter(\.1).map(\.0), more = zip(sorted, isFirst).filter { !$0.1 }.map(\.0)
        return .group {
            if shown.isEmpty { HTML.element(.p) { "Nothing." } } else { list(shown) }
            if !more.isEmpty { HTML.folded("\(Format.count(more.count)) more of the same kinds") { list(more) } }
            if !fine.isEmpty {
                HTML.folded(Format.count(fine.count, "thing that is as it should be", "things that are as they should be")) {
                    list(fine)
                }
            }
        }
    }

    private func list(_ findings: [DoctorReport.Finding]) -> HTML {
        .element(.ul, .class("findings")) {
            findings.map { finding in
                HTML.element(.li) {
                    HTML.element(.div) { ZoneSection.badge(finding.severity) }
                    HTML.element(.div) {
                        HTML.element(.p) { "\(finding.found)." }
                        if let meaning = finding.meaning { HTML.element(.p, .class("soft")) { "What it means: \(meaning)." } }
                        if let remedy = finding.remedy { HTML.element(.p, .class("soft")) { "What to do: \(remedy)." } }
                    }
                }
            }
        }
    }
}

/// The state of a database.
struct DatabasePart {
    let status: StatusReport
    /// Its absolute path.
    let path: String

    var html: HTML {
        .element(.dl, .class("pairs")) {
            HTML.pair("Database") { HTML.element(.code) { path } }
            HTML.pair("Device") { "\(status.device), a \(status.role)" }
            HTML.pair("Version here") {
                status.version.map { "\($0)" } ?? "none yet"
                if let behind = status.behind, behind > 0 { ", \(behind) behind the newest" }
                if let view = status.view { ", showing \(view)" }
            }
            HTML.pair("Last success") {
                if let success = status.lastSuccess {
                    TimeText.element(success)
                    ", \(AgeText.words(seconds: status.lastSuccessAge ?? 0)) ago"
                } else {
                    "never"
                }
                if let interval = status.interval { "; a sync is due every \(AgeText.words(seconds: interval))" }
            }
            if let check = status.lastRestoreCheck {
                HTML.pair("Last trial restore") {
                    TimeText.element(check.at)
                    ", version \(check.version): \(check.problems == 0 ? "all was well" : Format.count(check.problems, "problem") + " found")"
                }
            }
            HTML.pair("Changed since") { changes }
            HTML.pair("Messages") { messages }
        }
    }

    private var changes: String {
        let waiting = status.datasets.filter { $0.changes > 0 || !$0.isTracked }
        guard !waiting.isEmpty else { return "nothing" }
        return waiting.map { $0.isTracked ? "\($0.name): \(Format.count($0.changes, "row"))" : "\($0.name): not known; the next sync compares all rows" }
            .joined(separator: ", ")
    }

    private var messages: String {
        let counts = status.messages
        let parts = [
            (counts.unanswered, "handed over and not decided yet"), (counts.missing, "missing from the mailbox"),
            (counts.waiting, "to be decided here"), (counts.overlays, "kept here, because no message can carry them"),
        ].filter { $0.0 > 0 }.map { "\(Format.count($0.0)) \($0.1)" }
        return parts.isEmpty ? "none under way" : parts.joined(separator: ", ")
    }
}

/// The devices; those that are behind come first.
struct DevicePart {
    let zone: ZoneOverview
    let prefix: String

    /// How many devices are shown without unfolding.
    private static let limit = 20

    var html: HTML {
        let sorted = zone.details.devices.sorted { ($1.behind, $1.reportAge, $0.device) < ($0.behind, $0.reportAge, $1.device) }
        let isFew = sorted.count <= Self.limit + 5
        let shown = isFew ? sorted[...] : sorted.prefix(Self.limit), rest = sorted.dropFirst(shown.count)
        return .group {
            if sorted.isEmpty {
                HTML.element(.p) { "No device has reported yet." }
            } else {
                table("devices-table", "A device reports when it has something new, and daily.", shown)
            }
            if !rest.isEmpty {
                HTML.folded("\(Format.count(rest.count)) more devices, \(Format.count(rest.count { $0.behind == 0 })) of them with the newest data") {
                    table("more-devices", "The other devices.", rest)
                }
            }
        }
    }

    private func table(_ id: String, _ title: String, _ devices: ArraySlice<StatusReport.OtherDevice>) -> HTML {
        let waiting = Dictionary(grouping: (try? zone.details.messages?.get())?.waiting ?? [], by: \.device).mapValues(\.count)
        let isSigned = zone.details.facts?.info.isSigned == true
        return .table(
            id: "\(prefix)-\(id)", title,
            [.text("Device"), .text("Lag"), .number("Version"), .text("Last report"), .number("Ago"), .number("Edits"), .text("Role")]
                + (isSigned ? [.text("Member")] : []),
            devices.map { device in
                [
                    HTML(device.device), device.behind == 0 ? HTML("none") : HTML("\(Format.count(device.behind)) behind"),
                    HTML(device.version.map { "\($0)" } ?? "none"), TimeText.element(device.reportedAt), HTML(AgeText.words(seconds: device.reportAge)),
                    HTML(Format.count(waiting[device.device] ?? 0)), HTML(device.role),
                ] + (isSigned ? [HTML(device.isMember == true ? "yes" : "no")] : [])
            })
    }
}

/// The versions over time, and the newest ones.
struct VersionPart {
    let zone: ZoneOverview
    let prefix: String

    var html: HTML {
        let plot = VersionPlot(series: zone.details.series, prefix: "\(prefix)-plot")
        return .group {
            if zone.details.series.points.isEmpty {
                HTML.element(.p) { "No version is kept." }
            } else {
                plot.html
                HTML.table(
                    id: "\(prefix)-newest", "The newest versions.",
                    [.text("Version"), .text("Published"), .text("By"), .prose("Changed rows"), .number("Stored"), .number("Rows after"), .text("Notes")],
                    zone.details.recent.map(cells))
                HTML.folded("The figures of the plot") {
                    HTML.table(
                        id: "\(prefix)-points", "Each line stands for one span of time that has versions.",
                        [.text("From"), .number("Versions"), .number("Stored"), .number("Rows after"), .text("By")],
                        zone.details.series.points.map { point in
                            [
                                TimeText.element(point.begin), HTML(point.first == point.last ? "\(point.last)" : "\(point.first) to \(point.last)"),
                                HTML(Format.bytes(point.byteCount)), HTML(Format.count(point.rows)), HTML(plot.publishers(of: point)),
                            ]
                        })
                }
            }
        }
    }

    private func cells(_ version: ZoneOverview.RecentVersion) -> [HTML] {
        let changed =
            version.datasets.map { one in
                "\(ZoneOverview.dataset(one.name)): " + (one.changed.map { Format.count($0) } ?? "not counted")
            } + version.report.deleted.map { "\(ZoneOverview.dataset($0)): deleted" }
        let sums = zone.details.series.latest[version.report.version]
        let notes = [version.pin.map { $0.isEmpty ? "pinned" : "pinned: \($0)" }, version.report.key == nil ? nil : "signed"].compactMap(\.self)
        return [
            HTML("\(version.report.version)"), TimeText.element(version.report.timestamp), HTML(version.report.device),
            HTML(changed.isEmpty ? "no data" : changed.joined(separator: ", ")), HTML(sums.map { Format.bytes($0.bytes) } ?? ""),
            HTML(sums.map { Format.count($0.rows) } ?? ""),
            HTML(notes.joined(separator: ", ")),
        ]
    }
}

/// The datasets of the newest version, and how close their assets are to the size limit.
struct DatasetPart {
    let zone: ZoneOverview
    let prefix: String

    var html: HTML {
        let records = zone.records
        return .group {
            if records.isEmpty {
                HTML.element(.p) {
                    zone.isSealed ? "The zone is sealed; a page of a member's database (--db) shows its datasets." : "No dataset has been published."
                }
            } else {
                HTML.table(
                    id: "\(prefix)-datasets-table",
                    "A snapshot asset may have \(Format.bytes(zone.details.assetLimit))\(zone.status == nil ? ", unless a device was told otherwise" : ""). The forecast is a straight line through the last 90 days.",
                    [.text("Dataset"), .number("Rows"), .number("Snapshot"), .number("Changes since"), .prose("Of the limit"), .prose("Forecast")],
                    records.map { record in
                        [
                            HTML(ZoneOverview.dataset(record.record)), HTML(Format.count(record.recordCount)), HTML(Format.bytes(record.size)),
                            HTML(record.changeFiles.isEmpty ? "none" : Format.bytes(record.changeSize)), share(record.size), HTML(forecast(record.record)),
                        ]
                    })
            }
        }
    }

    private func share(_ size: Int) -> HTML {
        let part = Double(size) / Double(zone.details.assetLimit)
        // The same threshold as an export's warning: 80 %.
        let state = part >= 1 ? "error" : part >= 0.8 ? "warning" : "ok"
        return .group {
            HTML.element(.span, .class("keep")) { part < 0.01 ? "under 1 %" : "\(Int(min(part, 1e6) * 100)) %" }
            HTML.element(.svg, .class("meter"), .set(.viewBox, "0 0 100 4"), .set(.preserveAspectRatio, "none"), .set(.hidden, "true")) {
                HTML.element(.rect, .class("track"), .set(.width, "100"), .set(.height, "4"))
                HTML.element(.rect, .class(state), .set(.width, "\(max(0.5, min(100, (part * 1000).rounded() / 10)))"), .set(.height, "4"))
            }
        }
    }

    private func forecast(_ record: String) -> String {
        switch zone.details.series.sizes[record]?.forecast(limit: zone.details.assetLimit) ?? .unknown {
        case .unknown: return "too little history for one"
        case .steady: return "does not grow"
        case .reached: return "the limit is reached"
        case .growing(let bytes, nil): return "grows by \(Format.bytes(Int(bytes))) a day; more than ten years"
        case .growing(let bytes, let until?):
            return "grows by \(Format.bytes(Int(min(bytes, 1e15)))) a day; reaches the limit about \(TimeText.minute(until).prefix(10))"
        }
    }
}

/// The changes of the newest version.
struct ChangePart {
    let zone: ZoneOverview
    let prefix: String

    var html: HTML {
        if let change = zone.details.change { return changed(change) }
        if let error = zone.details.changeError { return .element(.p) { "The last two versions cannot be compared: \(error.place): \(error.reason)." } }
        return .element(.p) { "Fewer than two versions with data are kept, so there is nothing to compare." }
    }

    private func changed(_ change: ZoneOverview.LastChange) -> HTML {
        let touched = change.report.datasets.filter { $0.added + $0.changed + $0.removed > 0 }
        return .group {
            HTML.element(.p) {
                change.report.isSame ? "Versions \(change.from) and \(change.to) have the same rows." : "From version \(change.from) to version \(change.to):"
            }
            if !touched.isEmpty {
                HTML.table(
                    id: "\(prefix)-counts", "Rows that differ.",
                    [.text("Dataset"), .number("Added"), .number("Changed"), .number("Removed"), .number("Unchanged")],
                    touched.map { one in
                        [HTML(one.dataset)] + [one.added, one.changed, one.removed, one.unchanged].map { HTML(Format.count($0)) }
                    })
                let differing = Total.of(touched.map { $0.added + $0.changed + $0.removed })
                HTML.folded(
                    change.rows.count < differing
                        ? "The first \(change.rows.count) rows of \(Format.count(differing))" : Format.count(differing, "row") + ", by key"
                ) {
                    HTML.table(
                        id: "\(prefix)-rows", "Rows by their keys, in key order.",
                        [.prose("Key"), .text("Dataset"), .text("Change"), .prose("Columns")], change.rows.map(cells))
                }
            }
        }
    }

    private func cells(_ row: EntityDifference) -> [HTML] {
        [
            HTML(row.key.description), HTML(row.dataset), HTML(row.change.rawValue),
            row.values.map { values in
                HTML.element(.dl, .class("pairs")) {
                    values.map { value in
                        HTML.pair(value.name) {
                            switch row.change {
                            case .added: HTML(value.after)
                            case .removed: HTML(value.before)
                            case .changed: HTML("\(value.before) → \(value.after)")
                            }
                        }
                    }
                }
            } ?? HTML(row.columns.joined(separator: ", ")),
        ]
    }
}

/// The members of a zone and the devices that ask to be members.
struct MemberPart {
    let zone: ZoneOverview
    let prefix: String

    var html: HTML {
        if let members = zone.details.members { return list(members) }
        if let error = zone.details.membersError { return .element(.p) { "The members cannot be read: \(error.place): \(error.reason)." } }
        return .element(.p) { "The list of members is not there." }
    }

    private func list(_ members: MembersReport) -> HTML {
        .group {
            HTML.element(.p) {
                members.creator.map { "\(members.creatorDevice) made the zone. Its words: " + $0 + "." }
                    ?? "\(members.creatorDevice) has published nothing yet."
            }
            HTML.table(
                id: "\(prefix)-signers", "Members: what they sign counts.",
                [.text("Device"), .text("Role"), .prose("Words"), .text("Admitted by"), .text("Since")],
                members.members.map { one in
                    [
                        HTML(one.isOwn ? "\(one.device) (this device)" : one.device), HTML(one.role), HTML.element(.code) { one.fingerprint },
                        HTML(one.by == one.device ? "made the zone" : one.by), TimeText.element(one.since),
                    ]
                })
            if !members.requests.isEmpty {
                HTML.table(
                    id: "\(prefix)-requests", "Devices that ask to be members. Compare the words with those on the device before you approve.",
                    [.text("Device"), .text("Role"), .prose("Words"), .text("Asked"), .prose("Notes")],
                    members.requests.map { one in
                        [
                            HTML(one.device), HTML(one.role), HTML.element(.code) { one.fingerprint }, TimeText.element(one.at),
                            HTML(one.isNameTaken ? "a member has that name, with other keys" : ""),
                        ]
                    })
            }
        }
    }
}
