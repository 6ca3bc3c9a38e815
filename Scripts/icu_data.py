#!/usr/bin/env python3
"""Writes a part of ICU's data as an object file that takes the place of the whole in a static program.

    Scripts/icu_data.py SWIFT FOLDER        writes FOLDER/icu_data.o, and FOLDER/icu_data.options for `swift build`

Foundation brings ICU along, with 34 MB of data for all languages. The program writes dates, numbers and its own translations without them, which
no linker can see. 3 MB stay: normalization, the root locale, English, time zones. For every other language, ICU takes the root locale, as it does
for one that it does not know.

Where the toolchain's library or tools are not as expected, it writes neither, with a note; the program then has all of the data.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

MEMBER = "icu_packaged_data.cpp.o"
# The program's own name of the data, for which the linker exchanges the library's.
SYMBOL = "snapsync_icu_data"
# Normalization, properties of characters, and resources. Not: converters, dictionaries and rules of breaks, string preparation, lookalikes.
KINDS = ("nrm", "icu", "res")
# Folders of which only the root locale stays: breaks, numbers in words, sorting.
ROOT_ONLY = ("brkitr", "rbnf", "coll")
# The lists of locales (res_index) look like one.
LOCALE = re.compile(r"[a-z]{2,3}(_\w+)?")


def is_kept(name):
    folder, _, file = name.partition("/")[2].rpartition("/")
    stem, _, kind = file.rpartition(".")
    if kind not in KINDS or folder == "translit" or file == "unames.icu":
        return False
    if folder in ROOT_ONLY:
        return stem in ("root", "pool", "ucadata")
    return kind != "res" or not LOCALE.fullmatch(stem) or stem in ("en", "en_US", "en_001")


def reduced(data):
    """The package with the items that are kept. Its format: a header with its own size; a count; for each item the places of its name and its contents,
    from the count on; the names; the contents, each at a multiple of 16."""
    start, = struct.unpack_from("<H", data)
    if data[12:16] != b"CmnD":
        raise ValueError("the data are no ICU package")
    count, = struct.unpack_from("<I", data, start)
    table = [struct.unpack_from("<II", data, start + 4 + 8 * item) for item in range(count)]
    ends = [contents for _, contents in table[1:]] + [len(data) - start]
    items = []
    for (name, contents), end in zip(table, ends):
        text = data[start + name:data.index(b"\0", start + name)]
        if is_kept(text.decode()):
            items.append((text, data[start + contents:start + end]))
    names, places = b"", []
    for name, _ in items:
        places.append(4 + 8 * len(items) + len(names))
        names += name + b"\0"
    base = -(-(4 + 8 * len(items) + len(names)) // 16) * 16
    contents, table = b"", b""
    for (_, item), place in zip(items, places):
        contents += bytes(-len(contents) % 16)
        table += struct.pack("<II", place, base + len(contents))
        contents += item
    return data[:start] + (struct.pack("<I", len(items)) + table + names).ljust(base, b"\0") + contents


def write(swift, target):
    tools = os.path.dirname(os.path.realpath(shutil.which(swift) or swift))
    library = os.path.join(tools, "..", "lib", "swift_static", "linux", "lib_FoundationICU.a")
    with tempfile.TemporaryDirectory() as folder:
        def run(tool, *arguments):
            return subprocess.run([os.path.join(tools, tool), *arguments], cwd=folder, check=True, capture_output=True).stdout
        run("llvm-ar", "x", os.path.realpath(library), MEMBER)
        symbol, = [line.split()[-1] for line in run("llvm-nm", "--defined-only", MEMBER).decode().splitlines()]
        run("llvm-objcopy", "-O", "binary", "--only-section=.rodata", MEMBER, "all")
        with open(os.path.join(folder, "all"), "rb") as file:
            data = file.read()
        with open(os.path.join(folder, "part"), "wb") as file:
            file.write(reduced(data))
        with open(os.path.join(folder, "data.s"), "w") as file:
            file.write(f'.section .rodata,"a"\n.globl {SYMBOL}\n.balign 16\n{SYMBOL}:\n.incbin "part"\n.size {SYMBOL}, . - {SYMBOL}\n.section .note.GNU-stack,"",%progbits\n')
        run("clang", "-c", "data.s", "-o", "data.o")
        shutil.copyfile(os.path.join(folder, "data.o"), target + ".o")
    with open(target + ".options", "w") as file:
        file.write(f"-Xlinker {target}.o -Xlinker --defsym={symbol}={SYMBOL}\n")


if __name__ == "__main__":
    target = os.path.join(os.path.abspath(sys.argv[2]), "icu_data")
    if os.path.exists(target + ".options"):
        os.remove(target + ".options")
    try:
        write(sys.argv[1], target)
    except (OSError, ValueError, struct.error, subprocess.CalledProcessError) as error:
        print(f"the program gets all of ICU's data, 34 MB: {error}", file=sys.stderr)
