"""What can be wrong with a zone. Each error names the file."""


class ZoneError(Exception):
    """A zone cannot be read. `path` is the file beneath the cloud directory, `reason` says why."""

    def __init__(self, path, reason):
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path, self.reason = path, reason


class Damaged(ZoneError):
    """The bytes are not those that the format or the file that names them requires."""


class Missing(ZoneError):
    """A file does not exist or is shorter than its commit states. A sync tool may still deliver it."""


class Incompatible(ZoneError):
    """The zone needs a newer reader."""


class Untrusted(ZoneError):
    """A signature or the list of members is not valid."""


class Locked(ZoneError):
    """The zone is encrypted and no key that opens it was given."""


class Ended(ZoneError):
    """The zone was deleted, or continues under another name."""
