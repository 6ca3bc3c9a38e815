package import ArgumentParser
import Foundation
import Platform
import StrictText

/// Options of every command that prints.
package struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object instead of text. Errors are JSON on standard error.")
    package var json = false

    package init() {}

    package var printer: Printer { Printer(isJSON: json) }
}

/// The argument for a database. ``Program`` puts SNAPSYNC_DB in its place if it is left out.
package struct DatabaseFile: ParsableArguments {
    @Argument(help: ArgumentHelp("The SQLite database. Default: SNAPSYNC_DB.", valueName: Place.database), completion: .file())
    package var db: String?

    package init() {}

    package func validate() { HintCommands.place = db }

    package func path() throws -> String {
        guard let db else { throw ValidationError("Pass the database as the first argument, or set SNAPSYNC_DB.") }
        return db
    }
}

/// What a command works with: a database, or a location, which is a folder or a bucket.
package enum Place {
    /// The names of the first argument in the help: a database, and a database or a location.
    package static let database = "db", databaseOrLocation = "db|location"

    /// Whether an argument is a location. A missing file is a database that does not exist.
    package static func isLocation(_ place: String) -> Bool {
        var isDirectory: ObjCBool = false
        return place.exact.hasPrefix("s3://") || FileManager.default.fileExists(atPath: place, isDirectory: &isDirectory) && isDirectory.boolValue
    }

    /// Whether an argument is an existing file or folder, or a bucket.
    static func isThere(_ place: String) -> Bool { place.exact.hasPrefix("s3://") || FileManager.default.fileExists(atPath: place) }

    /// A variable of the environment; nil if it is empty.
    package static func environment(_ name: String) -> String? { System.environment(name).flatMap { $0.isEmpty ? nil : $0 } }
}
