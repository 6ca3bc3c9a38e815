#!/usr/bin/env python3
"""Spreads the commits of a zone that is not signed evenly over some days that end now, adds copies of the newest, and reports of devices.

    Tests/Page/make_history.py ZONE DAYS VERSIONS DEVICES

Assets and order stay. Timestamps, the hashes that follow from them, checkpoints and checksums are made anew, as docs/cloud-directory.md
describes them. A database that has applied one of the versions sees another history afterwards. No pin may be there.
"""
import datetime
import hashlib
import json
import os
import sys


def text(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def seal(name, body):
    return ('{"%s":%s,"sha256":"%s"}' % (name, text(body), hashlib.sha256(text(body).encode()).hexdigest())).encode()


def load(path, name):
    with open(path, encoding="utf-8") as file:
        return json.load(file)[name]


def store(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return hashlib.sha256(data).hexdigest()


def instant(microseconds):
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=microseconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def main():
    zone, days, versions, devices = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    documents = [load(zone + "/commits/" + name, "commit") for name in sorted(os.listdir(zone + "/commits"))]
    while len(documents) < versions:
        copy = json.loads(text(documents[-1]))
        copy["number"] += 1
        copy["nonce"] = "%016x" % copy["number"]
        documents.append(copy)
    now = int(datetime.datetime.now(datetime.timezone.utc).timestamp() * 1_000_000) - 60_000_000
    hashes, parent, checkpoint, records, first = {}, None, None, {}, {}
    for index, commit in enumerate(documents):
        number, name = commit["number"], "%020d.json" % commit["number"]
        at = instant(now - int(days * 86_400_000_000 * (len(documents) - 1 - index) / max(len(documents) - 1, 1)))
        commit["timestamp"] = commit["clock"] = at
        commit.pop("checkpoint", None)
        if index:
            commit["parent"] = parent
        if checkpoint:
            commit["checkpoint"] = checkpoint
        event = {"at": at, "by": commit["device"]}
        for record in commit["saved"]:
            first.setdefault(record["name"], event)
            records[record["name"]] = dict(record, changeTag=str(number), created=first[record["name"]], modified=event)
        for gone in commit["deleted"]:
            records.pop(gone, None), first.pop(gone, None)
        parent = hashes[number] = store(zone + "/commits/" + name, seal("commit", commit))
        if number % 16 == 0:
            body = {
                "cloud": commit["cloud"], "commit": parent, "number": number, "records": [records[one] for one in sorted(records)], "timestamp": at,
                "zone": commit["zone"]}
            checkpoint = {"number": number, "sha256": store(zone + "/checkpoints/" + name, seal("checkpoint", body))}
    newest, report = max(hashes), None
    for device in sorted(os.listdir(zone + "/devices")):
        folder = zone + "/devices/" + device
        for name in sorted(os.listdir(folder)):
            report = load(folder + "/" + name, "report")
            report["token"]["hash"] = hashes[report["token"]["number"]]
            store(folder + "/" + name, seal("report", report))
    for index in range(devices):
        device, late = "till-%03d" % index, 0 if index % 9 else index % 40
        token = {"number": max(1, newest - late), "hash": hashes[max(1, newest - late)]}
        os.makedirs(zone + "/devices/" + device)
        body = {"clock": instant(now - (late * 7 + index % 20) * 3_600_000_000), "device": device, "nonce": report["nonce"], "role": "reader", "token": token}
        store("%s/devices/%s/%020d.json" % (zone, device, token["number"]), seal("report", body))


main()
