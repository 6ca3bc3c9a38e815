#!/usr/bin/env python3
"""Runs the sessions of a page with the installed command, in a root that `chroot` enters, and compares what they print.

    Tests/Packages/sessions.py ROOT PAGE...

Each section with a session (a fenced block marked `console`) gets an empty folder; a page with a block marked `sql` is one session, on that
block as library.sql. The blocks of Tests/Promises/promises.md run in one folder; in each, the lines after `$ ` are one script, which prints the other lines, in that order and
perhaps with others between them. Placeholders are those of Tests/TestSupport/ExampleSession.swift. Sections about a bucket are left out: the root has none.
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
    """The blocks of the page of promises: a script each, and lines that it prints."""
    found, inside = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = line == "```console"
            if inside:
                found.append(([], []))
        elif inside:
            found[-1][not line.startswith("$ ")].append(line[2:] if line.startswith("$ ") else line)
    return [("\n".join(script), expected) for script, expected in found]


def kept(expected, printed):
    """Whether the expected lines are among the printed ones, in their order; none are expected of a script that prints nothing."""
    rest = iter(line.strip() for line in printed)
    return (expected or not printed) and all(any(matches(line, one) for one in rest) for line in expected)


def run(root, folder, command):
    script = "cd %s && exec 2>&1; set -o pipefail\n%s" % (folder, command)
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
        if os.path.basename(page) == "promises.md":
            folder = "/root/promises"
            os.makedirs(root + folder)
            for command, expected in promises(text):
                printed = run(root, folder, command)
                count += 1
                if not kept(expected, printed):
                    bad += 1
                    print("%s: $ %s\nlacks some of:\n  %s\nprinted:\n  %s" % (page, command, "\n  ".join(expected), "\n  ".join(printed)))
            continue
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
    print("%d commands of %d pages" % (count, len(sys.argv) - 2))
    sys.exit(1 if bad or not count else 0)


main()
