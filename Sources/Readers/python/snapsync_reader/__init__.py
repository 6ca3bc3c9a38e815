"""Reads SnapshotSync zones: versions, tables and rows, as SQLite databases and as CSV. See Sources/Readers/README.md."""
from .entities import RawText
from .errors import Damaged, Ended, Incompatible, Locked, Missing, Untrusted, ZoneError
from .source import Folder, Web
from .zone import Table, Version, Zone

__all__ = ["Zone", "Version", "Table", "RawText", "Folder", "Web", "ZoneError", "Damaged", "Missing", "Incompatible", "Untrusted", "Locked",
           "Ended"]
