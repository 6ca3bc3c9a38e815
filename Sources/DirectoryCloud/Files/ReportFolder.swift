import CloudStore
import CommitLog
import Platform

/// The reports of a zone's devices: `devices/<device>/<20-digit counter>.json`. The highest counter counts.
struct ReportFolder {
    let zone: ZoneFolder

    /// The largest report, in bytes.
    static let byteLimit = 64 << 10

    /// Stores a report if it says something new, then removes the device's older ones.
    ///
    /// A report only repeats what other files prove. If a power cut removes its name, the device writes it again, so the directory is not
    /// synchronized.
    func add(_ report: DeviceReport) throws {
        try report.verify()
        let devices = try zone.subfolder(CloudNames.devices)
        let folder = if let found = try devices.folder(report.device) { found } else { try zone.files.folder(report.device, in: devices) }
        let bytes = try report.bytes(of: zone.history, by: zone.history.isSigned ? zone.authority.signer() : nil)
        let reader = ReportReader(zone, knowsOwn: true)
        // Another run of the same device may take the next counter at the same time. Then try again.
        for _ in 0..<8 {
            let counters = try counters(in: folder)
            if let last = newest(of: report.device, counters, in: folder, reader), !report.isNews(after: last) { return }
            let last = counters.last ?? 0
            // Anybody can create a file with the largest number. Then take the first free number; the other files are removed below.
            let next = last < CloudNames.largestNumber ? last + 1 : (1...).first { !counters.contains($0) } ?? 1
            guard try zone.files.put(bytes, as: "\(CloudNames.digits(next)).json", in: folder, isLasting: false) != .taken else { continue }
            for old in reader.replaced(of: report.device, counters, read: { try read($0, in: folder) }) { try folder.remove("\(CloudNames.digits(old)).json") }
            return
        }
        throw CloudError(.inputOutput, at: folder.ownPlace, "other runs of this device keep reporting", hint: "run one sync at a time", isRetryable: true)
    }

    /// The newest readable report of each device, sorted by device name.
    func newestOfEachDevice() throws -> [DeviceReport] {
        var reports: [DeviceReport] = []
        let reader = ReportReader(zone)
        try zone.folder.folder(CloudNames.devices)?.eachFolder { name, folder in
            if let report = newest(of: name, try counters(in: folder), in: folder, reader) { reports.append(report) }
        }
        return reports
    }

    /// The newest readable report under a device's name.
    func newest(of device: String) throws -> DeviceReport? {
        guard let folder = try zone.folder.folder(CloudNames.devices)?.folder(device) else { return nil }
        return newest(of: device, try counters(in: folder), in: folder, ReportReader(zone, knowsOwn: true))
    }

    /// Removes every report under a device's name, the oldest first. The empty folder stays, since the device may report again at any time.
    func removeAll(of device: String) throws {
        guard let folder = try zone.folder.folder(CloudNames.devices)?.folder(device) else { return }
        for counter in try counters(in: folder) { try folder.remove("\(CloudNames.digits(counter)).json") }
    }

    private func counters(in folder: CloudFolder) throws(CloudError) -> [Int] {
        try folder.names().compactMap(CloudNames.number(ofFile:)).sorted()
    }

    /// The newest report of each device that requests membership of a signed zone, sorted by device name.
    func requests() throws -> [DeviceReport] {
        var reports: [DeviceReport] = []
        let reader = ReportReader(zone)
        try zone.folder.folder(CloudNames.devices)?.eachFolder { name, folder in
            if let report = reader.request(of: name, try counters(in: folder), read: { try read($0, in: folder) }) { reports.append(report) }
        }
        return reports
    }

    /// Reports are only information for people: if one is damaged, or its device has just removed it, the next older one counts.
    private func newest(of device: String, _ counters: [Int], in folder: CloudFolder, _ reader: ReportReader) -> DeviceReport? {
        reader.newest(of: device, counters) { try read($0, in: folder) }
    }

    private func read(_ counter: Int, in folder: CloudFolder) throws -> (bytes: [UInt8], place: String)? {
        let name = "\(CloudNames.digits(counter)).json"
        return try folder.bytes(of: name, limit: ReportFolder.byteLimit).map { ($0, folder.place(name)) }
    }
}
