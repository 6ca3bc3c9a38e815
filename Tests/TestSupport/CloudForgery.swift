import Foundation

/// Makes commits and block indexes that lie, with checksums that fit: what a hostile or broken program could leave in a cloud.
package enum CloudForgery {
    /// Changes a commit's document and seals it again.
    ///
    /// - Parameter edit: Python statements that change `commit`, a dictionary, and may use `zone`, the zone's path.
    package static func rewriteCommit(_ path: String, _ edit: String) throws { try Python.run(common + "\ncommit = load()\n\(edit)\nseal(commit)", [path]) }

    /// Changes the block index of a record's asset, as text, and names the new one in the commit.
    ///
    /// - Parameter edit: Python statements that change `index`, a text, and may use `re`.
    package static func rewriteIndex(ofCommit path: String, record: String, _ edit: String) throws {
        try Python.run(
            common + """

                commit = load()
                asset = [r for r in commit['saved'] if r['name'] == sys.argv[2]][0]['fields']['dataFile']['value']
                name = zone + '/' + asset['path'].replace('.json.gz', '.index.json')
                index = open(name, encoding='utf-8').read()
                before = index
                \(edit)
                assert index != before, 'nothing was changed'
                open(name, 'w', encoding='utf-8').write(index)
                asset['index'] = {'sha256': sha(index), 'size': len(index.encode())}
                seal(commit)
                """, [path, record])
    }

    /// Replaces the bytes of a record's asset, rebuilding index and commit so that every size and hash fits again.
    ///
    /// - Parameter edit: Python statements that change `blocks`, a list of the members' JSON as bytes without the separators
    ///   in front, or `tail`, the tail's JSON as bytes, and may change `raw_lengths`, what the index declares for each block (None: the truth).
    package static func rewriteBlocks(ofCommit path: String, record: String, _ edit: String) throws {
        try Python.run(
            common + """

                commit = load()
                asset = [r for r in commit['saved'] if r['name'] == sys.argv[2]][0]['fields']['dataFile']['value']
                file = zone + '/' + asset['path']
                data = open(file, 'rb').read()
                index = json.loads(open(file.replace('.json.gz', '.index.json'), encoding='utf-8').read())
                def part(entry): return gzip.decompress(data[entry['offset']:entry['offset'] + entry['length']])
                blocks = [part(b)[1 if n == 0 else 2:] for n, b in enumerate(index['blocks'])]
                raw_lengths = [None] * len(blocks)
                tail = part(index['tail'])
                \(edit)
                # Members as the format has them: no name, no time.
                def member(raw):
                    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
                    body = packer.compress(raw) + packer.flush()
                    return data[:10] + body + struct.pack('<II', zlib.crc32(raw), len(raw) & 0xFFFFFFFF)
                out, offset = data[:index['header']['length']], index['header']['length']
                for number, (entry, raw) in enumerate(zip(index['blocks'], blocks)):
                    packed = member((b'\\n' if number == 0 else b',\\n') + raw)
                    entry.update(offset=offset, length=len(packed), sha256=sha(packed), rawSha256=sha(raw),
                        rawLength=raw_lengths[number] or len(raw) + (1 if number == 0 else 2))
                    out += packed
                    offset += len(packed)
                packed = member(tail)
                index['tail'].update(offset=offset, length=len(packed), sha256=sha(packed), rawSha256=sha(tail), rawLength=len(tail))
                out += packed
                index['size'] = len(out)
                index['rawSize'] = sum(m['rawLength'] for m in [index['header'], index['tail']] + index['blocks'])
                open(file, 'wb').write(out)
                def text(value): return json.dumps(value, ensure_ascii=False, separators=(',', ':'))
                lines = [text({k: index[k] for k in ('formatVersion', 'dataset', 'key', 'timestamp') if k in index})[:-1] + ',']
                lines += ['"columns":['] + [text(c) + ',' for c in index['columns']]
                lines[-1] = lines[-1][:-1]
                lines += ['],', text({k: index[k] for k in ('recordCount', 'blockEntities', 'size', 'rawSize')})[1:-1] + ',']
                lines += ['"header":' + text(index['header']) + ',', '"blocks":['] + [text(b) + ',' for b in index['blocks']]
                lines[-1] = lines[-1][:-1]
                lines += ['],', '"tail":' + text(index['tail']) + '}', '']
                index = '\\n'.join(lines)
                open(file.replace('.json.gz', '.index.json'), 'w', encoding='utf-8').write(index)
                asset.update(size=len(out), sha256=sha(out), rawSize=json.loads(index)['rawSize'], index={'sha256': sha(index), 'size': len(index.encode())})
                seal(commit)
                """, [path, record])
    }

    /// Makes a device's report so many days older.
    package static func ageReport(_ path: String, days: Int) throws {
        try Python.run(
            common + """

                import datetime
                report = json.load(open(sys.argv[1], encoding='utf-8'))['report']
                clock = datetime.datetime.fromisoformat(report['clock'].replace('Z', '+00:00')) - datetime.timedelta(days=int(sys.argv[2]))
                report['clock'] = clock.strftime('%Y-%m-%dT%H:%M:%S.%fZ')
                body = json.dumps(report, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
                open(sys.argv[1], 'w', encoding='utf-8').write('{"report":' + body + ',"sha256":"' + sha(body) + '"}')
                """, [path, "\(days)"])
    }

    /// Writes a device's report to other paths, as that of other devices.
    package static func copyReport(_ path: String, as reports: [(device: String, path: String)]) throws {
        try Python.run(
            common + """

                report = json.load(open(sys.argv[1], encoding='utf-8'))['report']
                for report['device'], path in zip(sys.argv[2::2], sys.argv[3::2]):
                    body = json.dumps(report, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, 'w', encoding='utf-8') as file: file.write('{"report":' + body + ',"sha256":"' + sha(body) + '"}')
                """, [path] + reports.flatMap { [$0.device, $0.path] })
    }

    private static let common = """
        import gzip, hashlib, json, os, re, struct, sys, zlib
        zone = os.path.dirname(os.path.dirname(sys.argv[1]))
        def sha(data): return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()
        def load(): return json.load(open(sys.argv[1], encoding='utf-8'))['commit']
        def seal(commit):
            body = json.dumps(commit, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
            open(sys.argv[1], 'w', encoding='utf-8').write('{"commit":' + body + ',"sha256":"' + sha(body) + '"}')
        """
}
