"""Writes the first inputs of each fuzz target, taken from the frozen files: seeds.py FIXTURES CORPUS"""
import glob, gzip, json, os, sys

fixtures, corpus = sys.argv[1:3]


def find(pattern):
    return sorted(glob.glob(os.path.join(fixtures, pattern), recursive=True))


def seed(target, name, data):
    os.makedirs(os.path.join(corpus, target), exist_ok=True)
    with open(os.path.join(corpus, target, name), 'wb') as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def body(path, name):
    """What stands between a document's name and its checksum."""
    data = open(path, 'rb').read()
    return data[len('{"%s":' % name):data.rindex(b',"sha256":"')]


CLOUD = '9f2f3f1e-2419-4e61-9c40-90bee53aa355'
THING = '{"id":%s,"updatedAt":"2026-01-02T03:04:05.006Z","n":-9007199254740993,"x":1.5e-7,"tree":{"a":[1,null,"\\u00e9"]},"bytes":"AAEC"}'

for number, path in enumerate(find('**/*.json')):
    data = open(path, 'rb').read()
    if len(data) <= 8192:
        seed('json', 'file%d' % number, data)
for number, text in enumerate(['[]', '{"a":{"a":1e5}}', '"\\ud83d\\ude00"', '[-0,0.5,1e-9,true,false,null]', '[' * 70 + ']' * 70]):
    seed('json', 'text%d' % number, text)

for number, text in enumerate([
    '2026-11-21T08:32:00.250+01:00', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z', '2024-02-29T00:00:00.1-23:59', '2026-11-21t08:32:60z']):
    seed('timestamp', str(number), text)

for number, path in enumerate(find('**/*.json.gz')):
    data = open(path, 'rb').read()
    try:
        text = gzip.decompress(data)
    except (EOFError, OSError):
        seed('gzip', 'damaged%d' % number, data)
        continue
    index = path.replace('.json.gz', '.index.json')
    if os.path.exists(index):
        described = json.load(open(index, encoding='utf-8'))
        for part, entry in enumerate([described['header'], described['tail']] + described['blocks']):
            seed('gzip', '%d-%d' % (number, part), data[entry['offset']:entry['offset'] + entry['length']])
        seed('index', str(number), open(index, 'rb').read())
    if len(text) <= 65536:
        seed('asset', str(number), text)
        seed('container', str(number), text)
        seed('container', 'gzip%d' % number, data)
        seed('changes', str(number), text)

for name, keys in [('things', ('"a"', '"b\\u000a"')), ('numbers', ('-1', '9223372036854775807'))]:
    entities = ',\n'.join(THING % key for key in keys)
    head = '{"syncTimestamp":"2026-01-02T03:04:05.006Z","%s":[' % name
    at = '"at":"2026-01-02T03:04:05.000007Z"'
    lists = ',"held":[%s],"deletions":[{"id":%s,"deletedAt":"2026-01-02T03:04:05.006Z"}]' % (
        THING % ('"bb"' if name == 'things' else '4'), '"c"' if name == 'things' else '5')
    lists += ',"instants":[{"id":%s,%s}],"born":[{"id":%s,%s}],"columns":{"flag":[{"id":%s}],"n":[{"id":%s,%s}]}' % (
        keys[0], at, keys[0], at, keys[0], keys[0], at)
    after = head.replace(',', ',"after":"00000000000000000001-0a0b0c0d",', 1)
    for target in ('asset', 'changes', 'container'):
        begin = after if target == 'changes' else head
        seed(target, name, begin + '\n' + entities + '\n]' + lists + '}\n')
        seed(target, name + '-empty', begin + '\n]}\n')
    seed('changes', name + '-partial', after + '\n[{"id":%s,"n":1},"any","flag"],\n' % keys[0] + (THING % keys[1]) + '\n]}\n')
    seed('block', name, '\n' + entities)
    for number, form in enumerate(['0', '-0.0', '"t"', '{"base64":"AAEC"}', '{"textBase64":"/w=="}', '{"real":"-Infinity"}', '{ "base64" : "" }']):
        seed('block', '%s-any%d' % (name, number), '\n' + (THING % keys[0])[:-1] + ',"any":%s}' % form)
    seed('block', name + '-any-order', '\n{"tree" : [ ] , "n":0,"unknown":[{}],"updatedAt":"","bytes":"","flag":true,"id":%s}' % keys[0])

for path in find('cloud-1/**/commits/*.json'):
    seed('commit', os.path.basename(path), body(path, 'commit'))
for path in find('**/commits/*.json'):
    seed('commit', os.path.basename(path) + '-' + str(len(path)), json.dumps(
        dict(json.loads(body(path, 'commit')), cloud=CLOUD), separators=(',', ':'), sort_keys=True))
values = [('string', 'x'), ('integer', 1), ('double', 0.5), ('boolean', True), ('date', '2026-01-02T03:04:05Z'), ('bytes', 'AAEC'),
          ('reference', {'record': 'a', 'action': 'none'}), ('list', [{'type': 'list', 'value': [{'type': 'integer', 'value': -1}]}])]
commit = json.loads(body(find('cloud-1/**/commits/*.json')[-1], 'commit'))
commit['saved'].append({'name': 'a', 'type': 'Item', 'fields': {'f%d' % n: {'type': t, 'value': v} for n, (t, v) in enumerate(values)}})
seed('commit', 'values', json.dumps(dict(commit, answered={'phone': 7, 'watch': 1}), separators=(',', ':'), sort_keys=True))
seed('commit', 'event', json.dumps(dict(
    commit, saved=[], requires=['zoneEvents'], zoneEvent={
        'kind': 'moved', 'to': {'zone': 'Next', 'creator': 'a', 'features': ['signed']}}), separators=(',', ':'), sort_keys=True))

for path in find('cloud-1/**/checkpoints/*.json'):
    seed('checkpoint', os.path.basename(path), body(path, 'checkpoint'))

AT = '2026-01-02T03:04:05.000Z'
for number, edits in enumerate([
    [{'number': 7, 'dataset': 'notifications', 'id': 'n1', 'at': AT, 'born': AT, 'base': {'at': AT}, 'columns': [{'name': 'readAt', 'at': AT}],
      'row': '{"id":"n1","title":"T","readAt":"x"}'}],
    [{'number': 1, 'dataset': 'buckets', 'id': 'b1', 'at': AT, 'born': AT, 'row': '{"id":"b1","name":"B","createdAt":"x","updatedAt":"y"}'},
     {'number': 2, 'dataset': 'buckets', 'id': ['b', 2], 'at': AT, 'born': AT, 'base': {'deletedAt': AT}, 'loose': True}],
    [{'number': 1, 'fullSync': True}]]):
    content = {'format': 1, 'device': 'watch', 'id': '000645a1d3f0c2b19c07000000000001', 'edits': edits}
    envelope = {'body': content, 'cloud': CLOUD, 'id': '000645a1d3f0c2b19c07000000000001', 'sender': 'watch', 'zone': 'private/ZentikSyncZone'}
    seed('message', str(number), json.dumps(envelope, separators=(',', ':')))
for path in find('**/devices/*/*.json'):
    seed('message', 'report' + str(len(path)), body(path, 'report'))

for path in find('**/cloud.json') + find('**/zone.json'):
    seed('marker', '%s%d' % (os.path.basename(path), len(path)), open(path, 'rb').read())

for path in find('Examples/**/*.json'):
    data = open(path, 'rb').read()
    if b'"datasets"' in data:
        seed('dataset', os.path.basename(path), data)
seed('dataset', 'small', '{"formatVersion":1,"datasets":[{"name":"a","table":"\\"; DROP TABLE b;--","key":"id","merge":"single","recordType":"A","recordName":"a","columns":[{"name":"id","type":"text"},{"name":"b","type":"real","column":"[x]","optional":true}]}]}')

# Signed and sealed zones.
for folder in ('sealed-1', 'sealed-2'):
    for number, box in enumerate(json.load(open(os.path.join(fixtures, folder, 'boxes.json')))['boxes']):
        seed('box', '%s-%d' % (folder, number), bytes.fromhex(box['box']))
for path in find('sealed-2/cloud/**/commits/*.json'):
    for record in json.load(open(path))['commit']['saved']:
        if record['name'] == 'snapshot_keys':
            seed('keyring', 'x-wing-' + os.path.basename(path), json.dumps(record, separators=(',', ':'), sort_keys=True))
for path in find('sealed-1/cloud/**/commits/*.json'):
    data = open(path, 'rb').read()
    seed('signed', os.path.basename(path), data)
    seed('signed', 'body-' + os.path.basename(path), json.dumps(json.loads(data)['commit'], separators=(',', ':'), sort_keys=True))
    for record in json.loads(data)['commit']['saved']:
        text = json.dumps(record, separators=(',', ':'), sort_keys=True)
        if record['name'] == 'snapshot_keys':
            seed('keyring', os.path.basename(path), text)
        elif record['name'] == 'snapshot_members':
            statements = [json.loads(value['value'])['statement'] for value in record['fields']['statements']['value']]
            for number, statement in enumerate(statements):
                statement.update({'key': 'KEY'} if number == 0 else {}, **({'parent': 'PARENT'} if number else {}))
            added = dict(statements[0], action='add', device='tablet', key='ab' * 32, sealKey='cd' * 32, role='peer', number=len(statements) + 1, parent='PARENT',
                         floor={'number': 1, 'hash': 'ef' * 32})
            lines = statements + [added]
            lines.append(dict({k: v for k, v in added.items() if k not in ('key', 'sealKey', 'floor')}, action='role', role='observer', number=len(lines) + 1))
            lines.append(dict({k: v for k, v in lines[-1].items() if k != 'role'}, action='remove', number=len(lines) + 1))
            for count in range(1, len(lines) + 1):
                seed('members', '%s-%d' % (os.path.basename(path), count), '\n'.join(
                    json.dumps(line, separators=(',', ':'), sort_keys=True) for line in lines[:count]))
        else:
            seed('sealed', record['name'] + os.path.basename(path), text)
for path in find('sealed-1/cloud/**/messages/*/*.json') + find('sealed-1/cloud/**/devices/*/*.json'):
    data = open(path, 'rb').read()
    seed('signed', os.path.basename(path), data)
    document = json.loads(data)
    body = document.get('message', document.get('report'))
    seed('signed', 'body-' + os.path.basename(path), json.dumps(body, separators=(',', ':'), sort_keys=True))
    if 'message' in document:
        seed('sealed', 'body', json.dumps(body['body'], separators=(',', ':'), sort_keys=True))
seed('sealed', 'fields', json.dumps({'f%d' % n: {'type': t, 'value': v} for n, (t, v) in enumerate(values)}, separators=(',', ':')))
seed('sealed', 'message', '{"type":"fullSync","timestamp":"2026-01-02T03:04:05Z","id":"000645a1d3f0c2b19c07000000000001","sender":"watch"}')
seed('words', 'code', open(os.path.join(fixtures, 'sealed-1', 'recovery-code.txt')).read())
seed('words', 'fingerprint', 'lusab-babad-gutih-tugad-mudof-sakat-bahaf-votuk')
seed('words', 'spaces', ' LUSAB babad\ngutih tugad  mudof sakat bahaf VOTUK ')
key_file = {'cloud': CLOUD, 'device': 'desk', 'zone': 'private/ZentikSyncZone'}
seed('keyfile', 'plain', json.dumps(dict(key_file, formatVersion=1, signingSeed='01' * 32, sealingSeed='02' * 32), separators=(',', ':'), sort_keys=True))
seed('keyfile', 'locked', json.dumps(dict(key_file, formatVersion=2, keys='AAEC' * 30 + 'AAE=', scrypt={'n': 131072, 'p': 1, 'r': 8, 'salt': '03' * 32}),
                                     separators=(',', ':'), sort_keys=True))
