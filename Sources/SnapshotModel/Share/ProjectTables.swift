import StrictText

/// Which tables and columns of a database contain projects and their items.
///
///     var tables = ProjectTables(projects: "project", items: "task")
///     tables.columns[.itemTitle] = "name"
///
/// The default name of a column is its field's name (`title`, `detail`, …). A table may lack the columns `detail`, `closed`, `completed` and
/// `position` if they are not named here. The foreign key that the items' table declares tells an item's project. Source: docs/from-cloudkit.md.
public struct ProjectTables: Hashable, Sendable {
    /// What a column contains. The raw value is the field's name on the command line.
    public enum Field: String, Hashable, Sendable, CaseIterable {
        case projectID = "project.id", projectTitle = "project.title", projectDetail = "project.detail", projectClosed = "project.closed"
        case itemID = "item.id", itemProject = "item.project", itemTitle = "item.title", itemDetail = "item.detail"
        case itemCompleted = "item.completed", itemPosition = "item.position"

        /// The default name of the column; nil if a foreign key tells the column.
        package var defaultColumn: String? {
            self == .itemProject ? nil : rawValue.exact.split(separator: ".").last
        }

        /// Whether a table may lack such a column.
        package var isOptional: Bool {
            [.projectDetail, .projectClosed, .itemDetail, .itemCompleted, .itemPosition].contains(self)
        }
    }

    /// The table of the projects.
    public var projects: String
    /// The table of the items.
    public var items: String
    /// The columns that do not have their fields' names.
    public var columns: [Field: String]

    /// Makes a description of tables.
    public init(projects: String = "projects", items: String = "items", columns: [Field: String] = [:]) {
        (self.projects, self.items, self.columns) = (projects, items, columns)
    }
}
