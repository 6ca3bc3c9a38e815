import CloudStore
import CommitLog
import Platform

/// The reports of a zone's devices: `devices/<device>/<20-digit counter>.json`, the highest counts.
struct ReportFolder {
    let zone: ZoneFolder

    /// The largest report, in bytes.
    static let byteLimit = 64 << 10

    /// Puts a report in place if it says something new, then removes the device's older ones.
    ///
    /// A report tells what other files prove. One whose name a power cut takes away is as one that was not written yet, so nobody waits
    /// for the disk to keep the name.
    func add(_ report: DeviceReport) throws {
        try report.verify()
        let devices = try zone.subfolder(CloudNames.devices)
        let folder = if let found = try devices.folder(report.device) { found } else { try zone.files.folder(report.device, in: devices) }
        let bytes = try ChecksummedDocument.encode(report, named: DeviceReport.sealName)
        // Another run of the same device may count up at the same time: look again, then.
        for _ in 0..<8 {
            let counters = try counters(in: folder)
            if let last = newest(of: report.device, counters, in: folder), !report.isNews(after: last) { return }
            let last = counters.last ?? 0
            // After the largest, which anyone may have laid there, comes the first free one; the others are removed below.
            let next = last < CloudNames.largestNumber ? last + 1 : (1...).first { !counters.contains($0) } ?? 1
            guard try zone.files.put(bytes, as: "\(CloudNames.digits(next)).json", in: folder, isLasting: false) != .taken else { continue }
            for old in counters { try folder.remove("\(CloudNames.digits(old)).json") }
            return
        }
        throw CloudError(.inputOutput, at: folder.ownPlace, "other runs of this device keep reporting", hint: "run one sync at a time", isRetryable: true)
    }

    /// The newest readable report of each device, in the order of their names.
    func newestOfEachDevice() throws -> [DeviceReport] {
        var reports: [DeviceReport] = []
        try zone.folder.folder(CloudNames.devices)?.eachFolder { name, folder in
            if let report = newest(of: name, try counters(in: folder), in: folder) { reports.append(report) }
        }
        return reports
    }

    /// The newest readable report under a device's name.
    func newest(of device: String) throws -> DeviceReport? {
        guard let folder = try zone.folder.folder(CloudNames.devices)?.folder(device) else { return nil }
        return newest(of: device, try counters(in: folder), in: folder)
    }

    /// Removes every report under a device's name, the oldest first. Its empty folder stays: the device may report again at any time.
    func removeAll(of device: String) throws {
        guard let folder = try zone.folder.folder(CloudNames.devices)?.folder(device) else { return }
        for counter in try counters(in: folder) { try folder.remove("\(CloudNames.digits(counter)).json") }
    }

    private func counters(in folder: CloudFolder) throws(CloudError) -> [Int] {
        try folder.names().compactMap(CloudNames.number(ofFile:)).sorted()
    }

    /// Reports are hints for people: one that is damaged, or removed by its author just now, gives way to the next older one.
    private func newest(of device: String, _ counters: [Int], in folder: CloudFolder) -> DeviceReport? {
        for counter in counters.reversed() {
            let name = "\(CloudNames.digits(counter)).json"
            if let bytes = try? folder.bytes(of: name, limit: ReportFolder.byteLimit),
                let report = try? DeviceReport(bytes, of: device, at: folder.place(name))
            {
                return report
            }
        }
        return nil
    }
}
