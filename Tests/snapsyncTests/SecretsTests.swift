import Foundation
import TestSupport
import Testing

/// No row, key or passphrase leaves the device in the clear: looked for in every byte that the command and what it starts write, send and hand over.
@Suite(.runsPrograms, .enabled(if: SignedScene.isAvailable && TracedRun.isPossible)) struct SecretsTests {
    private static let passphrase = "CANARY-passphrase battery"

    @Test(arguments: Sample.of(["--encrypt --padded --post-quantum", "--encrypt"], oneIn: 2))
    func noRowKeyOrPassphraseIsWrittenInTheClear(_ kind: String) throws {
        let scene = try SignedScene()
        for name in ["temporary", "home"] {
            try FileManager.default.createDirectory(atPath: scene.scene.scratch.path(name), withIntermediateDirectories: true)
        }
        let path = scene.scene.scratch.path("passphrase")
        #expect(FileManager.default.createFile(atPath: path, contents: Data(Self.passphrase.utf8), attributes: [.posixPermissions: 0o600]))
        try scene.succeed("generate phone.db --notifications 30 --buckets 3")
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY-row ' || id, body = 'CANARY-row'")
        let report = try scene.unseal(
            #"""
            from traced import *
            here = os.path.abspath('.')
            environment = dict(os.environ, XDG_DATA_HOME=here + '/keys', HOME=here + '/home', TMPDIR=here + '/temporary', SNAPSYNC_PASSPHRASE_FILE='passphrase')
            passphrase = b'\#(Self.passphrase)'
            look = Looked('\#(BuiltCommand.path())', environment, Secrets([passphrase], [b'CANARY-row']))
            run, add, secrets = look.run, look.add, look.secrets
            def seeds(device):
                f = json.load(open(key_file(device)))
                key = hashlib.scrypt(passphrase, salt=bytes.fromhex(f['scrypt']['salt']), n=f['scrypt']['n'], r=8, p=1, maxmem=1 << 30, dklen=32)
                box = base64.b64decode(f['keys'])
                place = 'snapsync-key-file 2\n%s\n%s\n%s\n%s' % (f['cloud'], f['zone'], f['device'], f['sealing'] + '\n' if 'sealing' in f else '')
                both = AESGCM(key).decrypt(box[:12], box[12:], place.encode())
                return both[:32], both[32:]

            init = run('init phone.db cloud --built-in --name phone \#(kind) --passphrase', code=True)
            code = re.search(r'(?:[a-z]{5}-){17}[a-z]{5}', init.decode()).group()
            add(*seeds('phone'), seed_of_words(code))
            secrets.keys.append(code.encode())
            run('sync phone.db')
            z = open_zone(ZONE, seeds('phone')[1])
            add(*z.secrets.values())
            join = 'join watch.db cloud --name watch --passphrase'
            run(join, 75)
            add(*seeds('watch'))
            run('zone approve phone.db watch --yes')
            run(join)
            run('sync watch.db')
            import sqlite3
            def sql(database, text):
                with sqlite3.connect(database) as connection: connection.executescript(text)
                connection.close()
            sql('watch.db', "UPDATE buckets SET name = 'CANARY-row of watch' WHERE id = (SELECT min(id) FROM buckets)")
            run('sync watch.db')
            run('sync phone.db')
            run('zone rotate-keys phone.db')
            add(*open_zone(ZONE, seeds('phone')[1]).secrets.values())
            sql('phone.db', "UPDATE notifications SET title = title || ' CANARY-row' WHERE id = (SELECT max(id) FROM notifications)")
            run('export phone.db --full')
            run('sync watch.db')
            # A day later the publisher makes a version without a change.
            run('zone freshness phone.db on')
            environment['LD_PRELOAD'] = shifted_clock(90000)
            before = newest()
            run('sync phone.db')
            assert newest() == before + 1 and [saved['name'] for saved in load(newest())['saved']] == ['snapshot_freshness'], load(newest())
            run('sync watch.db')
            run('zone passphrase phone.db --new-file passphrase')
            run('copy cloud copy')
            for line in ('check watch.db --all-versions --local', 'check phone.db --restore', 'check watch.db -v', 'status phone.db --json', 'log watch.db --json'):
                run(line)
            # Errors, and what they are handed on to.
            asset = sorted(glob.glob(ZONE + '/assets/notifications_data/*.json.gz'))[-1]
            good = read(asset)
            sql('phone.db', "UPDATE notifications SET body = 'CANARY-row again'")
            run('sync phone.db')
            for path in glob.glob(ZONE + '/assets/*/*.json.gz'): write(path, read(path)[:-40] + bytes(40))
            with open('tell', 'w') as file: file.write('#!/bin/sh\ncat /proc/$PPID/cmdline /proc/$PPID/environ /proc/self/cmdline /proc/self/environ > told 2>/dev/null; env >> told; cat >> told\n')
            os.chmod('tell', 0o755)
            run('sync watch.db --on-failure ./tell', 65)
            told = read('told')
            assert b'watch.db' in told and not secrets.found('told', told), told
            environment['SNAPSYNC_PASSPHRASE_FILE'] = 'keys'
            run('sync watch.db', 78)
            # The run above is the only one that shows the code. Nothing is left behind.
            for top in ('temporary', 'home', 'cloud', 'copy'):
                for folder, _, names in os.walk(top):
                    for path in (os.path.join(folder, n) for n in names): assert not secrets.found(path, read(path)), path
            assert os.listdir('temporary') == [], os.listdir('temporary')
            assert not glob.glob('**/core*', recursive=True)
            print(any(path.startswith(here + '/cloud/') for path in look.written), any('/keys/snapsync/' in path for path in look.written))
            """#)
        #expect(report.hasSuffix("True True\n"), "\(report)")
    }

    /// The program that gives the credentials of a bucket writes them into its pipe, and nobody writes them anywhere else; it learns no row and no key.
    @Test(.enabled(if: BucketServer.isAvailable)) func credentialsOfABucketStayInTheirPipe() throws {
        let scene = try SignedScene(), server = try BucketServer.shared.get(), bucket = try server.bucket()
        try scene.succeed("generate phone.db --notifications 30 --buckets 3")
        try scene.scene.database("phone.db").run("UPDATE notifications SET title = 'CANARY-row ' || id")
        let keys = BucketScene.keys
        let report = try scene.unseal(
            #"""
            from traced import *
            here = os.path.abspath('.')
            write('home/.aws/config', ('[default]\ncredential_process = %s/give\n' % here).encode())
            write(here + '/answer', b'{"Version":1,"AccessKeyId":"\#(keys["AWS_ACCESS_KEY_ID"]!)","SecretAccessKey":"\#(keys["AWS_SECRET_ACCESS_KEY"]!)"}')
            write(here + '/give', b'#!/bin/sh\ncd "${0%/*}"\ntr "\\0" " " < /proc/$(grep PPid /proc/$PPID/status | tr -dc 0-9)/cmdline >> told\nenv >> told\nls -l /proc/self/fd >> told\ncat answer\n')
            os.chmod('give', 0o755)
            secret = b'\#(keys["AWS_SECRET_ACCESS_KEY"]!)'
            environment = {name: value for name, value in os.environ.items() if not name.startswith('AWS_')}
            environment.update(XDG_DATA_HOME=here + '/keys', HOME=here + '/home', AWS_EC2_METADATA_DISABLED='true', AWS_REGION='us-east-1', AWS_ENDPOINT_URL_S3='\#(server.endpoint)')
            look = Looked('\#(BuiltCommand.path())', environment, Secrets([secret], [b'CANARY-row']))
            def run(line, *rest, **more): return look.run(line.replace('CLOUD', 's3://\#(bucket)/app'), *rest, piped=[secret], **more)
            def seeds(device): return [bytes.fromhex(json.load(open(key_file(device)))[name]) for name in ('signingSeed', 'sealingSeed')]

            init = run('init phone.db CLOUD --built-in --name phone --encrypt', code=True)
            code = re.search(CODE, init).group()
            look.add(*seeds('phone'), seed_of_words(code.decode()))
            look.secrets.keys.append(code)
            run('sync phone.db')
            join = 'join watch.db CLOUD --name watch'
            run(join, 75)
            look.add(*seeds('watch'))
            run('zone approve phone.db watch --yes')
            run(join)
            run('copy s3://\#(bucket)/app copy')
            look.add(*open_zone(ZONE.replace('cloud/', 'copy/'), seeds('phone')[1]).secrets.values())
            for line in ('sync watch.db', 'zone rotate-keys phone.db', 'export phone.db --full', 'check watch.db --all-versions --local', 'check phone.db', 'status phone.db --json'):
                run(line)
            # A program that fails has said the secret all the same.
            write(here + '/give', read('give') + b'exit 3\n')
            run('sync phone.db', 77)
            told = read('told')
            assert b'sync watch.db' in told and not look.secrets.found('told', told), told
            for top in ('home', 'copy'):
                for folder, _, names in os.walk(top):
                    for path in (os.path.join(folder, n) for n in names): assert not look.secrets.found(path, read(path)), path
            print(told.count(b'.db'), any(path.startswith('TCP:') or path.startswith('socket:') for path in look.written))
            """#)
        #expect(report.hasSuffix("True\n"), "\(report)")
    }
}
