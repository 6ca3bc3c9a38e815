"""Where a zone's files come from, and the errors that name a file."""
import html
import io
import os
import re
import stat
import urllib.error
import urllib.parse
import urllib.request


class ZoneError(Exception):
    """A zone cannot be read. `path` is the file beneath the cloud directory, `reason` what is wrong."""

    def __init__(self, path, reason):
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path, self.reason = path, reason


class Damaged(ZoneError):
    """The bytes are not those that the format, or the file that names them, requires."""


class Missing(ZoneError):
    """A file does not exist, or is shorter than stated. A sync tool may still deliver it."""


class Incompatible(ZoneError):
    """The zone needs a newer reader."""


class Untrusted(ZoneError):
    """A signature or the list of members is not valid."""


class Locked(ZoneError):
    """The zone is encrypted, and no key that opens it was given."""


class Ended(ZoneError):
    """The zone continues under another name."""


class checked:
    """Turns what a parser or a check finds wrong into an error that names the file."""

    def __init__(self, path, what="", kind=Damaged):
        self.path, self.what, self.kind = path, what, kind

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, Incompatible) and not error.path:
            raise Incompatible(self.path, error.reason) from error
        if isinstance(error, (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)):
            raise self.kind(self.path, f"{self.what}: {error!r}" if not isinstance(error, ValueError) else f"{self.what}: {error}") from error


def need(condition, what):
    if not condition:
        raise ValueError(what)


class Folder:
    """Files beneath a directory. Links below the directory are not followed."""

    def __init__(self, root):
        self.root = os.fspath(root)

    def open(self, path, offset=0):
        """Returns a binary stream that begins at `offset`, and the file's size. Raises FileNotFoundError."""
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in path.split("/"):
                kind = os.O_NONBLOCK if part == path.split("/")[-1] else os.O_DIRECTORY
                inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=folder)
                os.close(folder)
                folder = inner
            status = os.fstat(folder)
            if not stat.S_ISREG(status.st_mode):
                raise Damaged(path, "not a plain file")
            stream = os.fdopen(os.dup(folder), "rb")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise Damaged(path, f"not a plain file in plain folders: {error.strerror}") from error
        finally:
            os.close(folder)
        stream.seek(offset)
        return stream, status.st_size

    def list(self, path):
        """Returns the names in a folder, none if it does not exist, or None if it cannot be listed."""
        try:
            return os.listdir(os.path.join(self.root, path))
        except FileNotFoundError:
            return []


class Web:
    """Files beneath an address, by GET with byte ranges. Folders are listed by the index page that the server makes."""

    def __init__(self, address):
        self.address = address.rstrip("/") + "/"

    def open(self, path, offset=0):
        """As in Folder. A server without byte ranges sends the whole file, which is skipped up to `offset`."""
        request = urllib.request.Request(self.address + path, headers={"Range": f"bytes={offset}-"} if offset else {})
        try:
            response = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            if error.code in (403, 404, 410):
                raise FileNotFoundError(path) from error
            if error.code == 416:  # the range begins behind the end
                return io.BytesIO(), None
            raise ZoneError(path, f"the server answered {error.code}") from error
        except OSError as error:
            raise ZoneError(path, f"the server cannot be reached: {error}") from error
        if response.status == 206:
            found = re.fullmatch(r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)", response.headers.get("Content-Range", ""))
            if not found or int(found[1]) != offset:
                raise ZoneError(path, "the server sent another byte range")
            return response, None if found[2] == "*" else int(found[2])
        while offset > 0:
            offset -= len(response.read(min(offset, 1 << 20))) or offset
        length = response.headers.get("Content-Length")
        return response, int(length) if length else None

    def list(self, path):
        try:
            with self.open(path + "/")[0] as response:
                links = re.findall(r"""href\s*=\s*["']([^"'?#]+)""", response.read(1 << 26).decode("utf-8", "replace"), re.IGNORECASE)
        except FileNotFoundError:
            return None
        return [urllib.parse.unquote(html.unescape(link)).rstrip("/").split("/")[-1] for link in links]


def source(location):
    """The opener for a path or an http(s) address. An object with the methods `open` and `list` is one already."""
    if hasattr(location, "open") and hasattr(location, "list"):
        return location
    text = os.fspath(location)
    return Web(text) if re.match(r"https?://", text) else Folder(text)


def read_whole(origin, path, limit):
    """A file's bytes. A file of more than `limit` bytes is refused."""
    try:
        stream, size = origin.open(path)
    except FileNotFoundError as error:
        raise Missing(path, "the file is missing") from error
    with stream:
        data = b"" if size is not None and size > limit else stream.read(limit + 1)
    if len(data) > limit or (size is not None and size > limit):
        raise Damaged(path, f"larger than {limit} bytes")
    return data
