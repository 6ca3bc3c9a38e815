"""A copy of the code in which a script changes some files, so that it can be built beside the working tree."""
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def refresh(copy, changed):
    """Makes the copy what the working tree is, but for the files of `changed`, a dictionary of names and texts. Files that are the same keep their time, so that
    a later build is short."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    names = {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in sorted(names - set(changed)):
        write(copy / name, (ROOT / name).read_bytes(), ROOT / name)
    for name, text in changed.items():
        write(copy / name, text.encode())
    for folder in ("Sources", "Tests"):
        for path in (copy / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(copy)) not in names | set(changed): path.unlink()


def write(path, content, source=None):
    if path.is_file() and path.read_bytes() == content: return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if source: shutil.copymode(source, path)
