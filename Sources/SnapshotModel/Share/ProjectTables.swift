/// Which tables and columns of a database hold projects and their items.
///
///     var tables = ProjectTables(projects: "project", items: "task")
///     tables.columns[.itemTitle] = "name"
///
/// A column that is not named here has its field's own name (`title`, `detail`, …); `detail`, `closed`, `completed` and
/// `position` may be missing then. An item's project is found by the foreign key that the items' table declares. Source: docs/sharing.md.
public struct ProjectTables: Hashable, Sendable {
    /// What a column holds. Its raw value is how the command line names it.
    public enum Field: String, Hashable, Sendable, CaseIterable {
        case projectID = "project.id", projectTitle = "project.title", projectDetail = "project.detail", projectClosed = "project.closed"
        case itemID = "item.id", itemProject = "item.project", itemTitle = "item.title", itemDetail = "item.detail"
        case itemCompleted = "item.completed", itemPosition = "item.position"

        /// The column's name where none is given; nil for what a foreign key tells.
        package var defaultColumn: String? {
            self == .itemProject ? nil : rawValue.split(separator: ".").last.map(String.init)
        }

        /// Whether a table without such a column will do.
        package var isOptional: Bool {
            [.projectDetail, .projectClosed, .itemDetail, .itemCompleted, .itemPosition].contains(self)
        }
    }

    /// The table of the projects.
    public var projects: String
    /// The table of their items.
    public var items: String
    /// The columns whose names are not their fields'.
    public var columns: [Field: String]

    /// Tables, with columns of other names than their fields'.
    public init(projects: String = "projects", items: String = "items", columns: [Field: String] = [:]) {
        self.projects = projects
        self.items = items
        self.columns = columns
    }
}
