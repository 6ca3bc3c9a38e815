import Foundation
import TestSupport
import Testing

/// Key files with a passphrase, as credentials of systemd, and forged.
@Suite(.runsPrograms) struct KeyFileTests {
    private static let passphrase = "correct horse battery"
    /// Opens a locked key file with Python's scrypt, by docs/sealed.md alone. Leaves the seeds as `d`.
    private static let unlock = """
        import base64, hashlib
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        def unlocked(path, passphrase):
            f = json.load(open(path))
            s = f['scrypt']
            key = hashlib.scrypt(passphrase.encode(), salt=bytes.fromhex(s['salt']), n=s['n'], r=s['r'], p=s['p'], maxmem=1 << 30, dklen=32)
            box = base64.b64decode(f['keys'])
            place = 'snapsync-key-file 2\\n%s\\n%s\\n%s\\n' % (f['cloud'], f['zone'], f['device'])
            seeds = AESGCM(key).decrypt(box[:12], box[12:], place.encode())
            return f, seeds[:32].hex(), seeds[32:].hex()

        """

    /// A file that only its owner may read.
    private func file(_ name: String, _ text: String, in scene: SignedScene, mode: Int = 0o600) throws -> String {
        let path = scene.scene.scratch.path(name)
        try? FileManager.default.removeItem(atPath: path)
        #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode]))
        return path
    }

    private func run(_ line: String, _ variables: [String: String], in scene: SignedScene) throws -> ProgramRun {
        try scene.scene.run(line, environment: scene.environment.merging(variables) { $1 })
    }

    private func succeed(_ line: String, _ variables: [String: String], in scene: SignedScene, at location: SourceLocation = #_sourceLocation) throws {
        try scene.scene.succeed(line, environment: scene.environment.merging(variables) { $1 }, at: location)
    }

    private func keyFile(_ device: String, in scene: SignedScene) throws -> String {
        try scene.forge("print(os.path.abspath(key_file('\(device)')))").trimmingCharacters(in: .newlines)
    }

    /// A publisher and a reader whose keys have a passphrase, made by `init --passphrase`.
    private func locked(_ kind: String) throws -> (SignedScene, [String: String]) {
        let scene = try SignedScene()
        let variables = ["SNAPSYNC_PASSPHRASE_FILE": try file("passphrase", Self.passphrase + "\n", in: scene)]
        try scene.succeed("generate phone.db --notifications 20 --buckets 3")
        try succeed("init phone.db cloud --built-in --name phone \(kind) --passphrase", variables, in: scene)
        try succeed("sync phone.db", variables, in: scene)
        let join = "join watch.db cloud --name watch --passphrase"
        if kind == "--encrypt" { #expect(try run(join, variables, in: scene).status == 75) } else { try succeed(join, variables, in: scene) }
        try succeed("zone approve phone.db watch --yes", variables, in: scene)
        if kind == "--encrypt" { try succeed(join, variables, in: scene) }
        try succeed("sync watch.db", variables, in: scene)
        return (scene, variables)
    }

    @Test(arguments: Sample.of(["--encrypt", "--sign"], oneIn: 2)) func aPassphraseLocksTheKeys(_ kind: String) throws {
        let (scene, variables) = try locked(kind)
        let path = try keyFile("phone", in: scene)
        let seeds = try scene.forge(
            Self.unlock + """
                f, signing, sealing = unlocked(key_file('phone'), '\(Self.passphrase)')
                assert f['scrypt']['n'] == 1 << 17 and f['scrypt']['r'] == 8 and f['scrypt']['p'] == 1 and f['formatVersion'] == 2, f
                assert not any(s in read(key_file('phone')) for s in (signing.encode(), sealing.encode(), bytes.fromhex(signing), bytes.fromhex(sealing)))
                s = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(signing)).public_key().public_bytes(encoding=Encoding.Raw, format=PublicFormat.Raw)
                assert s.hex() == load(1)['key'], 'the keys are those that have signed'
                print(signing, sealing)
                """)
        try scene.succeed("generate phone.db --mark-read 3")
        let before = try scene.scene.cloudListing()
        // Without it, with another one, and with one that others may read, nothing is written.
        let wrong = try file("wrong", "correct horse batteri", in: scene), open = try file("open", Self.passphrase, in: scene, mode: 0o640)
        for (named, saying) in [
            (nil, "the keys are locked with a passphrase, and none was entered"), (wrong, "the passphrase is not that of the key file"),
            (open, "other users may read the passphrase file"), (scene.scene.scratch.path("none"), "the passphrase file is not there"),
        ] {
            // A session of its own has no terminal.
            let run = try ProgramRun(
                "setsid", ["-w", BuiltCommand.path(), "sync", "phone.db"], in: scene.scene.scratch.path,
                environment: scene.environment.merging(named.map { ["SNAPSYNC_PASSPHRASE_FILE": $0] } ?? [:]) { $1 })
            #expect(run.status == 78 && run.errorText.contains(saying) && !run.errorText.contains(Self.passphrase), "\(run.status) \(run.errorText)")
            #expect(try scene.scene.cloudListing() == before)
        }
        try succeed("sync phone.db", variables, in: scene)
        try succeed("sync watch.db", variables, in: scene)
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        // What needs no keys needs no passphrase.
        #expect(try scene.succeed("sync phone.db").contains("nothing"))
        // Removed, changed and set again, the keys stay the same.
        let second = try file("second", "another passphrase", in: scene)
        for (line, named) in [("--new-file \(second)", variables["SNAPSYNC_PASSPHRASE_FILE"]), ("--remove", second), ("--new-file \(second)", nil)] {
            try succeed("zone passphrase phone.db \(line)", named.map { ["SNAPSYNC_PASSPHRASE_FILE": $0] } ?? [:], in: scene)
            let same =
                line == "--remove"
                ? try scene.forge("d = json.load(open(key_file('phone'))); print(d['signingSeed'], d['sealingSeed'])")
                : try scene.forge(Self.unlock + "print(*unlocked(key_file('phone'), 'another passphrase')[1:])")
            #expect(same == seeds, "\(line)")
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["phone.json", "watch.json"])
        }
        // Too short: nothing is stored.
        let short = try file("short", "secret", in: scene)
        let run = try run("zone passphrase phone.db --new-file \(short)", ["SNAPSYNC_PASSPHRASE_FILE": second], in: scene)
        #expect(run.status == 78 && run.errorText.contains("shorter than 8 bytes"), "\(run.errorText)")
        #expect(try scene.forge(Self.unlock + "print(*unlocked(key_file('phone'), 'another passphrase')[1:])") == seeds)
    }

    @Test func aPersonTypesThePassphraseUnseen() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        try scene.succeed("generate phone.db --mark-read 3")
        let answers = try scene.unseal(
            """
            import pty, select
            def at_terminal(line, *answers):
                '''Runs the command at a terminal of its own; returns its end and all that the terminal shows.'''
                pid, terminal = pty.fork()
                if pid == 0:
                    os.environ['XDG_DATA_HOME'] = os.path.abspath('keys')
                    os.execv('\(BuiltCommand.path())', ['snapsync'] + line.split())
                shown, answers = b'', list(answers)
                while True:
                    try: piece = os.read(terminal, 4096)
                    except OSError: break
                    if not piece: break
                    shown += piece
                    if answers and shown.endswith((b'keys: ', b'again: ')): os.write(terminal, answers.pop(0).encode() + b'\\n')
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()
            p = '\(Self.passphrase)'
            status, shown = at_terminal('zone passphrase phone.db', p, 'something else')
            assert status == 78 and 'the two do not match' in shown and json.load(open(key_file('phone')))['formatVersion'] == 1, shown
            status, shown = at_terminal('zone passphrase phone.db', p, p)
            assert status == 0 and p not in shown and json.load(open(key_file('phone')))['formatVersion'] == 2, shown
            status, shown = at_terminal('sync phone.db', 'not this one')
            assert status == 78 and 'not that of the key file' in shown and 'not this one' not in shown, shown
            # It is asked for once.
            status, shown = at_terminal('sync phone.db', p)
            assert status == 0 and shown.count('Passphrase of the keys') == 1 and p not in shown, shown
            print(shown.count('published version'))
            """)
        #expect(answers == "1\n")
        try scene.succeed("sync watch.db")
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
    }

    @Test func aForgedFileMakesNoMemoryBeTaken() throws {
        let (scene, variables) = try locked("--sign")
        try scene.succeed("generate phone.db --mark-read 3")
        let before = try scene.scene.cloudListing()
        let forgeries = try scene.forge(
            """
            import resource, subprocess
            path = key_file('phone')
            good = json.load(open(path))
            environment = dict(os.environ, XDG_DATA_HOME=os.path.abspath('keys'), SNAPSYNC_PASSPHRASE_FILE='passphrase')
            def attempt(change, *saying):
                f = copy.deepcopy(good)
                change(f)
                open(path, 'wb').write(text(f))
                run = subprocess.run(['\(BuiltCommand.path())', 'sync', 'phone.db'], env=environment, capture_output=True, text=True)
                assert run.returncode == 78 and all(s in run.stderr for s in saying) and path[2:] in run.stderr, (run.returncode, run.stderr)
            for n, r, p in [(1 << 21, 8, 1), (1 << 62, 8, 1), (1 << 17, 1 << 20, 1), (1 << 17, 8, 1 << 20), (100000, 8, 1), (0, 8, 1), (-1, 8, 1), (2, 8, 1), (1 << 17, 0, 0)]:
                attempt(lambda f: f['scrypt'].update(n=n, r=r, p=p), 'asks for scrypt with n %d, r %d, p %d' % (n, r, p))
            attempt(lambda f: f['scrypt'].update(n=1 << 64), 'cannot be understood')
            attempt(lambda f: f['scrypt'].update(n='131072'), 'cannot be understood')
            attempt(lambda f: f.pop('scrypt'), 'cannot be understood')
            attempt(lambda f: f['scrypt'].update(salt='00'), 'holds no keys')
            attempt(lambda f: f.update(keys='AAAA'), 'holds no keys')
            attempt(lambda f: f.update(formatVersion=3), 'another format version')
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            # These are tried, and are found to be altered.
            attempt(lambda f: f['scrypt'].update(salt='00' * 32), 'the passphrase is not that of the key file, or the file was altered')
            attempt(lambda f: f['scrypt'].update(n=1 << 14), 'the passphrase is not that of the key file, or the file was altered')
            other = json.load(open(key_file('watch')))
            attempt(lambda f: f.update(keys=other['keys'], scrypt=other['scrypt']), 'the passphrase is not that of the key file, or the file was altered')
            open(path, 'wb').write(text(good))
            print(peak < 100000, peak if peak >= 100000 else '')
            """)
        #expect(forgeries == "True \n")
        #expect(try scene.scene.cloudListing() == before)
        try succeed("sync phone.db", variables, in: scene)
    }

    /// What systemd hands over with LoadCredential=snapsync-key and LoadCredential=snapsync-passphrase.
    @Test(arguments: Sample.of(["--encrypt", "--sign"], oneIn: 2)) func systemdHandsOverKeysAndPassphrase(_ kind: String) throws {
        let (scene, _) = try locked(kind)
        try scene.succeed("generate phone.db --mark-read 3")
        let folder = scene.scene.scratch.path("credentials"), path = try keyFile("phone", in: scene)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: path, toPath: "\(folder)/snapsync-key")
        let variables = ["CREDENTIALS_DIRECTORY": folder]
        // systemd's own modes are systemd's matter.
        try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: "\(folder)/snapsync-key")
        let passphrase = try file("credentials/snapsync-passphrase", Self.passphrase, in: scene, mode: 0o440)
        try succeed("sync phone.db", variables, in: scene)
        let watch = ["SNAPSYNC_PASSPHRASE_FILE": scene.scene.scratch.path("passphrase")]
        try succeed("sync watch.db", watch, in: scene)
        #expect(try scene.scene.contents("watch.db") == scene.scene.contents("phone.db"))
        let run = try run("zone passphrase phone.db --remove", variables, in: scene)
        #expect(run.status == 78 && run.errorText.contains("a credential of systemd is only read"), "\(run.errorText)")
        // Keys that are no credential, but locked with one.
        try FileManager.default.moveItem(atPath: "\(folder)/snapsync-key", toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try scene.succeed("generate phone.db --mark-read 2")
        #expect(FileManager.default.fileExists(atPath: passphrase))
        try succeed("sync phone.db", variables, in: scene)
    }

    @Test func keysThatAreThereAreNotTakenForLocked() throws {
        let scene = try SignedScene.phoneAndWatch()
        let line = "join late.db cloud --name late"
        try scene.succeed(line)
        try FileManager.default.removeItem(atPath: scene.scene.scratch.path("late.db"))
        let variables = ["SNAPSYNC_PASSPHRASE_FILE": try file("passphrase", Self.passphrase, in: scene)]
        let run = try run(line + " --take-over --passphrase", variables, in: scene)
        #expect(run.status == 78 && run.errorText.contains("the keys are there already, without a passphrase"), "\(run.errorText)")
    }

    @Test(.enabled(if: TracedRun.isPossible)) func aProcessWithKeysLeavesNoCoreDump() throws {
        let scene = try SignedScene.sealedPhoneAndWatch()
        func protections(_ line: String) throws -> [String] {
            let traced = try TracedRun(
                BuiltCommand.path(), line.split(separator: " ").map(String.init), calls: "prctl,prlimit64,setrlimit,openat", in: scene.scene.scratch.path,
                environment: scene.environment)
            #expect(traced.run.status == 0, "\(traced.run.errorText)")
            return traced.calls.compactMap { call in
                if call.text.contains("PR_SET_DUMPABLE, SUID_DUMP_DISABLE") { return "no dump" }
                if call.text.contains("RLIMIT_CORE, {rlim_cur=0, rlim_max=0}") { return "no core" }
                return call.text.contains("/keys/snapsync/keys/") && call.text.contains(".json") ? "keys" : nil
            }
        }
        #expect(try protections("sync phone.db") == [])
        try scene.succeed("generate phone.db --mark-read 3")
        #expect(try protections("sync phone.db").prefix(3) == ["no core", "no dump", "keys"])
    }
}
