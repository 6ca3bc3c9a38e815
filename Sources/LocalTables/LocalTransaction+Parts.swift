import StrictText

extension LocalTransaction {
    /// The datasets' tables as the database declares them.
    package var tables: TableInspector { TableInspector(transaction: self) }
    /// Derives descriptions of datasets from the tables.
    package var describer: TableDescriber { TableDescriber(transaction: self) }
    /// The foreign keys of all tables.
    package var references: ForeignKeyLookup { ForeignKeyLookup(transaction: self) }
    /// The keys of new rows in tables with AUTOINCREMENT.
    package var keyRanges: KeyRanges { KeyRanges(transaction: self) }
    /// What `init` and the operator decided.
    package var settings: SettingsTable { SettingsTable(transaction: self) }
    /// What the runs record about themselves.
    package var state: StateTable { StateTable(transaction: self) }
    /// The applied version of each dataset.
    package var datasetStates: DatasetStateTable { DatasetStateTable(transaction: self) }
    /// The zone that `init` is about to create.
    package var zoneBeginning: ZoneBeginningTable { ZoneBeginningTable(transaction: self) }
}
