"""Where a zone's files come from: a folder, a web server, or an object of your own with the same two methods."""
import html
import io
import os
import re
import stat
import urllib.error
import urllib.parse
import urllib.request

from .errors import Damaged, ZoneError


class Folder:
    """Files beneath a directory. Links below the directory are not followed."""

    def __init__(self, root):
        self.root = os.fspath(root)

    def open(self, path, offset=0):
        """Returns a binary stream that begins at `offset`, and the file's size. Raises FileNotFoundError."""
        parts = path.split("/")
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in (getattr(os, "ELOOP", 40), 20, 62):  # a link or a file in place of a folder
                raise Damaged(path, "a part of the path is a link, or not a folder") from error
            raise ZoneError(path, error.strerror) from error
        finally:
            os.close(folder)
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            os.close(file)
            raise Damaged(path, "not a plain file")
        stream = os.fdopen(file, "rb")
        stream.seek(offset)
        return stream, status.st_size

    def list(self, path):
        """Returns the names in a folder, none if the folder does not exist."""
        try:
            return os.listdir(os.path.join(self.root, path))
        except FileNotFoundError:
            return []


class Web:
    """Files beneath an address, by GET with byte ranges. Folders are listed by the index page that the server makes."""

    def __init__(self, address):
        self.address = address.rstrip("/") + "/"

    def _get(self, path, headers):
        request = urllib.request.Request(urllib.parse.urljoin(self.address, path), headers=headers)
        try:
            return urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            if error.code in (403, 404, 410):
                raise FileNotFoundError(path) from error
            if error.code == 416:  # the range begins behind the end
                return None
            raise ZoneError(path, f"the server answered {error.code}") from error
        except OSError as error:
            raise ZoneError(path, f"the server cannot be reached: {error}") from error

    def open(self, path, offset=0):
        """As in Folder. A server without byte ranges sends the whole file, which is skipped up to `offset`."""
        response = self._get(path, {"Range": f"bytes={offset}-"} if offset else {})
        if response is None:
            return io.BytesIO(), None
        if response.status == 206:
            found = re.fullmatch(r"bytes ([0-9]+)-[0-9]+/([0-9]+|\*)", response.headers.get("Content-Range", ""))
            if not found or int(found[1]) != offset:
                raise ZoneError(path, "the server sent another byte range")
            return response, None if found[2] == "*" else int(found[2])
        length = response.headers.get("Content-Length")
        while offset:
            skipped = len(response.read(min(offset, 1 << 20)))
            if not skipped:
                break
            offset -= skipped
        return response, int(length) if length else None

    def list(self, path):
        """As in Folder. Returns None if the server has no index page."""
        try:
            with self._get(path + "/", {}) as response:
                if "html" not in response.headers.get("Content-Type", ""):
                    return None
                text = response.read(1 << 26).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        links = re.findall(r"""href\s*=\s*["']([^"'?#]+)""", text, re.IGNORECASE)
        return [urllib.parse.unquote(html.unescape(link)).rstrip("/").split("/")[-1] for link in links]


def source(location):
    """Returns the opener for a path, an http(s) address, or the object itself if it has `open` and `list`."""
    if hasattr(location, "open") and hasattr(location, "list"):
        return location
    text = os.fspath(location)
    return Web(text) if re.match(r"https?://", text) else Folder(text)


def read_whole(origin, path, limit):
    """Returns a file's bytes. A file of more than `limit` bytes is refused before it is read."""
    stream, size = origin.open(path)
    with stream:
        data = b"" if size is not None and size > limit else stream.read(limit + 1)
    if len(data) > limit or (size is not None and size > limit):
        raise Damaged(path, f"larger than {limit} bytes")
    return data
