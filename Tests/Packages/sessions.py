#!/usr/bin/env python3
"""Runs the sessions of a page with the installed command, in a root that `chroot` enters, and compares what they print.

    Tests/Packages/sessions.py ROOT PAGE...

Each section with a session (a fenced block marked `console`) gets an empty folder; a page with a block marked `sql` is one session, on that
block as library.sql. Where a page has tables of promises (promise, command, printed), their commands run in the folder of its first section, in their
order, and print the lines that stand beside them, in that order and perhaps others between. Placeholders are those of Tests/TestSupport/ExampleSession.swift. Sections about a bucket are left out: the root has none.
"""
import os
import re
import subprocess
import sys

PLACES = [("<time>", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"), ("<hex>", "[0-9a-f]+"), ("<n>", r"[0-9][0-9,.]*( [kMGT]?B)?"), ("…", ".*")]


def matches(expected, printed):
    pattern = re.escape(expected)
    for place, meaning in PLACES:
        pattern = pattern.replace(re.escape(place), meaning)
    return re.fullmatch(pattern, printed) is not None


def steps(text):
    found, inside = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append((line[2:], []))
        elif inside:
            found[-1][1].append(line)
    return found


def promises(text):
    """The commands of tables with three columns, and what they print."""
    for row in text.split("\n"):
        # A pipe inside of a command is written with a backslash.
        cells = [cell.replace("\1", "|").strip() for cell in row.replace("\\|", "\1").split("|")]
        if row.startswith("| ") and len(cells) == 5 and cells[2].startswith("`"):
            yield cells[2].strip("`"), [line.strip("`") for line in cells[3].split("<br>")]


def kept(expected, printed):
    """Whether the expected lines are among the printed ones, in their order."""
    rest = iter(line.strip() for line in printed)
    return all(any(matches(line, one) for one in rest) for line in expected)


def run(root, folder, command):
    script = "cd %s && exec 2>&1; set -o pipefail; %s" % (folder, command)
    environment = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
    done = subprocess.run(["chroot", root] + environment + ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    lines = done.stdout.decode(errors="replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines + (["[exit %d]" % done.returncode] if done.returncode else [])


def main():
    root, count, bad = sys.argv[1], 0, 0
    for page in sys.argv[2:]:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        schema = re.search(r"```sql\n(.*?)```", text, re.S)
        sections = [text] if schema else text.split("\n## ")
        for number, section in enumerate(sections):
            session = steps(section)
            if not session or "s3://" in section:
                continue
            folder = "/root/%s-%d" % (os.path.basename(page), number)
            os.makedirs(root + folder)
            if schema:
                with open(root + folder + "/library.sql", "w", encoding="utf-8") as file:
                    file.write(schema[1])
            for command, expected in session:
                while expected and not expected[-1]:
                    expected.pop()
                printed = run(root, folder, command)
                count += 1
                if len(printed) != len(expected) or not all(map(matches, expected, printed)):
                    bad += 1
                    print("%s: $ %s\nexpected:\n  %s\nprinted:\n  %s" % (page, command, "\n  ".join(expected), "\n  ".join(printed)))
            for command, expected in promises(text) if number == 0 else []:
                printed = run(root, folder, command)
                count += 1
                if not kept(expected, printed):
                    bad += 1
                    print("%s: $ %s\nlacks some of:\n  %s\nprinted:\n  %s" % (page, command, "\n  ".join(expected), "\n  ".join(printed)))
    print("%d commands of %d pages" % (count, len(sys.argv) - 2))
    sys.exit(1 if bad or not count else 0)


main()
