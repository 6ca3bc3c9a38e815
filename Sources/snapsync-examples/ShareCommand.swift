import ArgumentParser
import CommandSupport
import Foundation
import SnapshotModel
import ProjectSharing
import SnapshotSync
import StrictText

/// `snapsync-examples share`: projects that everyone with access to the cloud can see.
struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Share projects with everyone who can read the location, and comment on them.",
        discussion: """
            Publish a project with its items under its owner's name, from a JSON file or from the tables of a database. Other people can \
            list it, view it and comment on it. Only the device that shared it can replace or remove it.

            EXAMPLES
              snapsync-examples share publish /mnt/share --file garden.json --owner Anna
              snapsync-examples share list /mnt/share/cloud
              snapsync-examples share comment /mnt/share --project x --name Ben --text Hi
            """,
        subcommands: [
            SharePublishCommand.self, ShareStatusCommand.self, ShareListCommand.self, ShareShowCommand.self, ShareRemoveCommand.self,
            ShareCommentCommand.self, ShareCommentsCommand.self,
        ])
}

/// `snapsync-examples share list`: lists the shared projects, newest first.
struct ShareListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the shared projects, newest first.",
        discussion: """
            Projects are sorted by the time when they were first shared, so a project that is replaced keeps its position.

            EXAMPLES
              snapsync-examples share list /mnt/share/cloud
              snapsync-examples share list tracker.db --limit 10 --page 2 --json
            """)

    @OptionGroup var share: ShareOptions
    @Option(name: .long, help: ArgumentHelp("Show at most this many projects.", valueName: "n"))
    var limit = 20
    @Option(name: .long, help: ArgumentHelp("Show this page of the list. Pages have --limit projects and start at 1.", valueName: "n"))
    var page = 1
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard limit >= 1, page >= 1 else { throw ValidationError("--limit and --page must be at least 1.") }
    }

    func run() async throws {
        try await output.printer.run(.fetch) {
            let found = try await find()
            let report = ShareListReport(
                zone: share.zone, state: found.projects.isEmpty ? .noResults : .success, page: page, hasMore: found.cursor != nil,
                projects: found.projects.map(ShareProjectReport.init), unreadable: found.unreadable)
            try output.printer.print(report, lines(report))
        }
    }

    /// Reads the pages up to the requested one. All pages come from one reading of the zone.
    private func find() async throws -> SharedProjectPage {
        let sharing = try share.sharing()
        var found = try await sharing.projects(limit: limit)
        for _ in 1..<page {
            guard let cursor = found.cursor else { return SharedProjectPage.end }
            found = try await sharing.projects(continuing: cursor, limit: limit)
        }
        return found
    }

    private func lines(_ report: ShareListReport) -> [String] {
        let lines = report.projects.map(ShareFormat.line) + report.unreadable.map { "  \($0): not a project that this version can read" }
        if lines.isEmpty { return [page == 1 ? "no projects are shared" : "no more projects"] }
        return lines + (report.hasMore ? ["more: --page \(page + 1)"] : [])
    }
}

/// `snapsync-examples share show`: shows a shared project with its items.
struct ShareShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a shared project with its items.",
        discussion: """
            EXAMPLES
              snapsync-examples share show /mnt/share/cloud --project garden
              snapsync-examples share show tracker.db --project garden --json
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let contents = try await share.sharing().contents(of: project.project)
            let report = ShareShowReport(project: ShareProjectReport(contents.project), items: contents.items)
            try output.printer.print(report, lines(report))
        }
    }

    private func lines(_ report: ShareShowReport) -> [String] {
        [ShareFormat.line(report.project)] + ShareFormat.text(report.project.detail)
            + report.items.flatMap { ["  [\($0.isCompleted ? "x" : " ")] \($0.title)"] + ShareFormat.text($0.detail, indent: 6) }
    }
}

/// `snapsync-examples share status`: shows whether a project is shared.
struct ShareStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether a project is shared: exists or absent.",
        discussion: """
            Only the status is fetched, not the project's fields.

            EXAMPLES
              snapsync-examples share status /mnt/share/cloud --project garden
              test "$(snapsync-examples share status tracker.db --project garden)" = exists
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let status = try await share.sharing().status(of: project.project)
            try output.printer.print(ShareStatusReport(project: project.project, zone: share.zone, status: status), [status.rawValue])
        }
    }
}

/// `snapsync-examples share comments`: lists the comments on a shared project.
struct ShareCommentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comments",
        abstract: "List the comments on a shared project, oldest first.",
        discussion: """
            EXAMPLES
              snapsync-examples share comments /mnt/share/cloud --project garden
              snapsync-examples share comments tracker.db --project garden --json
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let comments = try await share.sharing().comments(on: project.project)
            let report = ShareCommentsReport(
                project: project.project, state: comments.isEmpty ? .noResults : .success, comments: comments)
            let lines = report.comments.flatMap { ["\($0.name), \($0.postedAt?.description ?? "at an unknown time"):"] + ShareFormat.text($0.text) }
            try output.printer.print(report, lines.isEmpty ? ["no comments"] : lines)
        }
    }
}

/// `snapsync-examples share comment`: posts a comment on a shared project.
struct ShareCommentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comment",
        abstract: "Post a comment on a shared project.",
        discussion: """
            Text and name must contain more than white space. With --text -, the text is read from standard input, and printed on standard \
            output if it cannot be sent.

            EXAMPLES
              snapsync-examples share comment /mnt/share --project x --name Ben --text Hi
              snapsync-examples share comment a.db --project x --name Ben --text - < note
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var project: ShareProjectOptions
    @Option(name: .long, help: ArgumentHelp("The author's name.", valueName: "name"))
    var name: String
    @Option(name: .long, help: ArgumentHelp("The comment. Pass - to read standard input.", valueName: "text"))
    var text: String
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard !ShareLimits.isBlank(name), !ShareLimits.isBlank(text) else { throw ValidationError("--text and --name must not be blank.") }
    }

    func run() async throws {
        try await output.printer.run(.announce) {
            guard text == "-" else { return try await post(text) }
            let typed = String(decoding: try FileHandle.standardInput.readToEnd() ?? Data(), as: UTF8.self)
            do {
                // The final line feed of a file is not part of the comment.
                try await post(typed.exact.hasSuffix("\n") ? String(typed.dropLast()) : typed)
            } catch {
                try StandardStream.output.write(typed)
                throw error
            }
        }
    }

    private func post(_ text: String) async throws {
        let comment = try await share.sharing(as: device.device).post(text, by: name, on: project.project)
        try output.printer.done(
            ShareCommentReport(project: project.project, comment: comment), ["posted on \(project.project) as \(comment.name)"])
    }
}

/// `snapsync-examples share remove`: removes a project with its items and comments.
struct ShareRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a shared project with its items and comments.",
        discussion: """
            Run this on the device that shared the project.

            EXAMPLES
              snapsync-examples share remove /mnt/share/cloud --project garden
              snapsync-examples share remove tracker.db --project garden --json
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.announce) {
            let comments = try await share.sharing(as: device.device).remove(project.project)
            try output.printer.done(
                ShareRemoveReport(project: project.project, zone: share.zone, comments: comments),
                ["removed \(project.project) and \(Format.count(comments, "comment"))"])
        }
    }
}
