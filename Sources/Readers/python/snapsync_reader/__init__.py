"""Reads SnapshotSync zones: versions, tables and rows, as SQLite databases and as CSV. See Sources/Readers/README.md."""
from .files import Damaged, Ended, Folder, Incompatible, Locked, Missing, Untrusted, Web, ZoneError
from .rows import RawText
from .zone import Table, Version, Zone

__all__ = ["Zone", "Version", "Table", "RawText", "Folder", "Web", "ZoneError", "Damaged", "Missing", "Incompatible", "Untrusted", "Locked", "Ended"]
