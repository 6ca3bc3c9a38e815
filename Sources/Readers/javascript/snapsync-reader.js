// Reads a SnapshotSync zone over HTTP, in a browser or in Node 18 and later: versions, tables and rows. No dependencies.
//     import { Zone } from "./snapsync-reader.js";
//     const version = await (await Zone.open("https://example.org/cloud/")).version();
//     for await (const row of version.rows("songs")) console.log(row);
// A row is an object of the values that SQLite holds: INTEGER is a BigInt, REAL a number, TEXT a string, BLOB a Uint8Array, NULL null.
// Text that is not UTF-8 is a RawText. Signatures of signed zones are not verified, and encrypted zones are refused.

const utf8 = new TextEncoder(), strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LIMIT = { marker: 65536, commit: 16777216, checkpoint: 268435456, index: 67108864, tail: 67108864, block: 68157444, changes: 16777216 };
const FEATURES = ["signed"], NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const TYPES = ["string", "integer", "double", "boolean", "date", "bytes", "reference", "list", "asset"], ASSET = /^assets\/([^/]+)\/([0-9]{20})-[0-9a-f]{8}(\.changes)?\.json\.gz$/;

/** A zone cannot be read. `path` is the file beneath the cloud directory, `reason` says why. */
export class ZoneError extends Error {
  constructor(path, reason) { Object.assign(super(path ? `${path}: ${reason}` : reason), { name: "ZoneError", path, reason }); }
  raise() { throw this; }
}

/** Text of SQLite that is not UTF-8. */
export class RawText {
  constructor(bytes) { this.bytes = bytes; }
  toString() { return new TextDecoder().decode(this.bytes); }
}
function need(condition, what) { if (!condition) throw new SyntaxError(what); }

/** Runs `body`, and turns what it finds wrong into an error that names the file. */
function within(path, body) {
  return Promise.resolve().then(body).catch(error => {
    throw /^(Syntax|Type|Range|InvalidCharacter)Error$/.test(error.name) ? new ZoneError(path, error.message) : error;
  });
}

/** A strict parser. Integers become BigInts, other numbers stay numbers. A `lax` value is only skipped: names may occur twice. */
class JSONText {
  constructor(text) { Object.assign(this, { text, at: 0 }); }
  static document(bytes) {
    const parser = new JSONText(strict.decode(bytes)), value = parser.value(64);
    need(parser.space() === parser.text.length, "bytes after the document");
    return value;
  }
  space() { return (this.match(/[ \t\n\r]*/y), this.at); }
  take(text) { need(this.has(text), `${JSON.stringify(text)} is expected`); }
  has(text) { return this.text.startsWith(text, this.at) && (this.at += text.length) > 0; }
  match(pattern, what) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    need(found, `${what} is expected`);
    this.at = pattern.lastIndex;
    return found;
  }
  string(lax = false) {
    const [text] = this.match(STRING, "a string"), value = text.includes("\\") ? JSON.parse(text) : text.slice(1, -1);
    need(lax || !LONE.test(value), "a lone surrogate");
    return value;
  }
  number(lax) {
    const [text, fraction, exponent] = this.match(NUMBER, "a value"), isReal = fraction || exponent;
    if (lax) return 0;
    const value = isReal ? Number(text) : BigInt(text.slice(0, 24));
    need(isReal ? Number.isFinite(value) : text !== "-0" && BigInt.asIntN(64, value) === value, "a number is out of range");
    return value;
  }
  value(levels, lax = false) {
    this.space();
    const sign = this.text[this.at], isObject = sign === "{", end = isObject ? "}" : "]", made = isObject ? Object.create(null) : [];
    if (sign === '"') return this.string(lax);
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) if (this.has(word)) return value;
    if (!isObject && sign !== "[") return this.number(lax);
    need(levels > 0, "too many levels");
    for (let isFirst = (this.at++, this.space(), true); !this.has(end); isFirst = false) {
      if (!isFirst) this.take(","), this.space();
      const name = isObject ? this.string(lax) : made.length;
      need(lax || !isObject || !(name in made), `the name ${name} occurs twice`);
      if (isObject) this.space(), this.take(":");
      made[name] = this.value(levels - 1, lax);
      this.space();
    }
    return made;
  }
}
function count(value, most = Number.MAX_SAFE_INTEGER) {
  need(typeof value === "bigint" && value >= 0n && value <= BigInt(most), "a number is out of range");
  return Number(value);
}
function isUTF8(bytes) { try { return strict.decode(bytes) !== undefined; } catch { return false; } }
function unbase64(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return need(typeof text === "string" && btoa(binary) === text, "not canonical base64") ?? bytes;
}
async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) throw new ZoneError("", "the browser has no crypto.subtle here: serve the page over HTTPS, or from localhost");
  return Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), b => b.toString(16).padStart(2, "0")).join("");
}
function instant(text) {  // microseconds since 1970
  const found = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.(\d{3})(\d{3})?Z$/.exec(text), milliseconds = found ? Date.parse(`${found[1]}.${found[2]}Z`) : NaN;
  need(!Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(found[1]) && found[3] !== "000", `${text} is not an instant`);
  return BigInt(milliseconds) * 1000n + BigInt(found[3] ?? 0);
}

/** The bytes of a ReadableStream, in pieces of the length that is asked for, shorter only at the end. */
class Stream {
  constructor(body) { Object.assign(this, { reader: body?.getReader(), piece: new Uint8Array() }); }
  close() { this.reader?.cancel().catch(() => {}); }
  /** At most `length` bytes. Memory grows with what arrives, not with what is asked for. */
  async read(length) {
    let pieces = [], filled = 0;
    while (filled < length) {
      if (!this.piece.length) this.piece = (await this.reader?.read())?.value;
      if (!this.piece) break;
      pieces.push(this.piece.subarray(0, length - filled));
      this.piece = this.piece.subarray(pieces.at(-1).length);
      filled += pieces.at(-1).length;
    }
    this.piece ??= new Uint8Array();
    const made = new Uint8Array(filled);
    pieces.reduce((at, piece) => (made.set(piece, at), at + piece.length), 0);
    return made;
  }
}

/** Files beneath an address. */
class Files {
  constructor(address, fetcher) { Object.assign(this, { address: address.replace(/\/*$/, "/"), fetcher }); }
  get(path, headers = {}) {
    const failed = error => { throw new ZoneError(path, `the server cannot be reached: ${error.message}`); };
    return this.fetcher(this.address + path, { headers, cache: "no-cache" }).catch(failed);
  }
  /** A stream that begins at `offset`. A server without byte ranges sends what is skipped here. If the file is missing: an error, or null. */
  async open(path, offset = 0, missing = "the file is missing") {
    const response = await this.get(path, offset ? { Range: `bytes=${offset}-` } : {}), stream = new Stream(response.body), isPart = response.status === 206;
    if (response.ok && (!isPart || response.headers.get("Content-Range")?.startsWith(`bytes ${offset}-`))) {
      for (let left = isPart ? 0 : offset, step = 1; left > 0 && step; left -= step) step = (await stream.read(Math.min(left, 1 << 20))).length;
      return stream;
    }
    stream.close();
    if (![403, 404, 410].includes(response.status)) throw new ZoneError(path, `the server answered ${response.status}`);
    return missing && new ZoneError(path, missing).raise();
  }
  /** A whole file of at most `limit` bytes. */
  async read(path, limit, missing) {
    const stream = await this.open(path, 0, missing), data = await stream.read(limit + 1);
    stream.close();
    return data.length > limit ? new ZoneError(path, `larger than ${limit} bytes`).raise() : data;
  }
  /** A file with the size and the SHA-256 that were stated for it. */
  async stated(path, stated, limit) {
    const size = await within(path, () => count(stated.size, limit)), data = await this.read(path, size);
    if (data.length < size) throw new ZoneError(path, `${data.length} bytes, where ${size} are stated`);
    return await sha256(data) === stated.sha256 ? data : new ZoneError(path, "another SHA-256 than stated").raise();
  }
  /** The names on a folder's index page, none if the server makes no such page. */
  async list(path) {
    const response = await this.get(path + "/"), text = await response.text(), isPage = /html/.test(response.headers.get("Content-Type") ?? "");
    return Array.from(response.ok && isPage ? text.matchAll(/href\s*=\s*["']([^"'?#]+)/gi) : [], found => found[1].split("/").pop());
  }
}

/** The raw bytes of one gzip member in the format's exact form. */
async function inflate(data, length) {
  need([31, 139, 8, 0, 0, 0, 0, 0, 0, 255].every((byte, i) => data[i] === byte), "not a gzip member of the format");
  const stream = new Stream(new Response(data).body.pipeThrough(new DecompressionStream("gzip")));
  const raw = await stream.read(length + 1).catch(error => need(false, `the member cannot be decompressed: ${error.message}`));
  stream.close();
  need(raw.length === length, "another raw length than stated");
  return raw;
}

/** The bytes of a key, one character for each, which sort as SQLite sorts keys. */
function encode(columns, values) {
  need(values.length === columns.length, "the form of a key");
  const bytes = data => Array.from(data, byte => byte ? String.fromCharCode(byte) : "\0\xff").join("");
  return values.map((value, i) => {
    if (typeof value === "string") return `\x20${bytes(fold(value, columns[i].collation))}\0\0`;
    if (value instanceof Uint8Array) return `\x30${bytes(value)}\0\0`;
    need(typeof value === "bigint" || Number.isFinite(value), "a value that no key has");
    const view = new DataView(new ArrayBuffer(10));
    view.setFloat64(0, Number(value) + 0);
    if (typeof value === "bigint") {
      if (BigInt(Number(value)) > value) view.setBigInt64(0, view.getBigInt64(0) + (value > 0n ? -1n : 1n));
      view.setUint16(8, Number(value - BigInt(view.getFloat64(0))));
    }
    const bits = view.getBigUint64(0);
    view.setBigUint64(0, bits >> 63n ? ~bits : bits | 1n << 63n);
    return "\x10" + String.fromCharCode(...new Uint8Array(view.buffer));
  }).join("");
}
function fold(text, collation) {
  if (collation === "rtrim") return utf8.encode(text.replace(/ +$/, ""));
  const bytes = utf8.encode(collation === "nocase" ? text.replace(/[A-Z]/g, letter => letter.toLowerCase()) : text), nul = bytes.indexOf(0);
  return collation === "nocase" && nul >= 0 ? bytes.fill(0, nul) : bytes;
}

/** A dataset's columns, and the parser of its entities. */
class Schema {
  constructor(index) {
    this.columns = new Map(index.columns.map(column => [column.name, column]));
    Object.assign(this, { names: [...this.columns.keys()], keyNames: [index.key].flat() });
    this.keyColumns = this.keyNames.map(name => this.columns.get(name));
    need(this.columns.size === index.columns.length && this.keyColumns.every(Boolean), "the columns of the index");
  }
  key(row) { return encode(this.keyColumns, this.keyNames.map(name => row[name])); }
  finished(row) { return Object.fromEntries(this.names.map(name => [name, row[name] ?? null])); }
  /** A key as it is written outside of entities. */
  written(key) { return encode(this.keyColumns, [key].flat().map(part => part?.base64 === undefined ? part : unbase64(part.base64))); }
  /** A row without its absent columns. A `whole` entity must have all columns that are not optional. */
  entity(json, whole = true) {
    const row = Object.create(null);
    json.take("{");
    for (let isFirst = true; !json.has("}"); isFirst = false) {
      if (!isFirst) json.take(",");
      const name = json.string(), column = this.columns.get(name);
      need(!(name in row), `the name ${name} occurs twice`);
      json.take(":");
      row[name] = column ? this.value(json, column.type) : json.value(512, true);
    }
    for (const [name, column] of this.columns) need(!whole || !column.type || column.optional || name in row, `an entity lacks ${name}`);
    return row;
  }
  value(json, type) {
    const begin = json.at, value = json.value(type === "json" ? 512 : 1, type === "json"), kind = typeof value;
    if (type === "json") return json.text.slice(begin, json.space());
    if (type === "blob") return unbase64(value);
    if (type === "boolean" && kind === "boolean") return value ? 1n : 0n;
    if ({ string: [undefined, "text"], bigint: [undefined, "integer", "real"], number: [undefined, "real"] }[kind]?.includes(type)) return value;
    need(!type && value && Object.keys(value).length === 1, `a value of another type than ${type ?? "SQLite has"}`);
    if (value.real === "Infinity" || value.real === "-Infinity") return Number(value.real);
    const bytes = unbase64(value.base64 ?? value.textBase64);
    need("base64" in value || !isUTF8(bytes), "textBase64 of valid UTF-8");
    return "base64" in value ? bytes : new RawText(bytes);
  }
  /** The keys of held entities and of tombstones, which stand behind the entities of a container. */
  tail(json) {
    const keys = [];
    for (let sign = ',"held":['; json.has(sign); sign = json.has("]") ? "none" : ",") keys.push(this.key(this.entity(json)));
    for (const { id, deletedAt } of json.has(',"deletions":') ? json.value(8) : []) instant(deletedAt), keys.push(this.written(id));
    for (const name of ["instants", "born", "columns"]) if (json.has(`,"${name}":`)) json.value(8);
    json.take("}\n");
    return need(json.at === json.text.length && new Set(keys).size === keys.length, "bytes behind the container, or a key twice") ?? keys;
  }
}
async function checksummed(bytes, name, isSigned) {
  const begin = `{"${name}":`, end = isSigned ? 220 : 77, body = bytes.subarray(begin.length, Math.max(begin.length, bytes.length - end));
  const parts = /^,"sha256":"([0-9a-f]{64})"(,"signature":"[0-9a-f]{128}")?\}$/.exec(strict.decode(bytes.subarray(-end)));
  need(strict.decode(bytes.subarray(0, begin.length)) === begin && parts && !!parts[2] === isSigned, `not a whole ${name}`);
  need(await sha256(body) === parts[1], "the checksum is wrong");
  return JSONText.document(body);
}
function checkRecords(records, number) {
  const check = (field, folder) => {
    const found = field.type === "asset" && ASSET.exec(field.value.path);
    need(TYPES.includes(field.type), `a field of type ${field.type}: a newer reader is needed`);
    if (field.type === "list") for (const one of field.value) check(one, folder);
    need(found === false || (found?.[1] === folder && BigInt(found[2]) <= BigInt(number)), `the path ${field.value.path}`);
    if (found) count(field.value.size, 2 ** 42), count(field.value.rawSize, 2 ** 42);
  };
  for (const record of records) for (const field of Object.values(record.fields)) check(field, record.name);
}

/** A zone. `signatures` is null in a zone without signatures, otherwise "not verified". */
export class Zone {
  /** Opens a zone of the cloud directory at `address`. `newest` is a version that exists, for servers that do not list folders. */
  static async open(address, { zone = "private/main", newest = 1, fetch = (...request) => globalThis.fetch(...request) } = {}) {
    const made = Object.assign(new Zone(), { files: new Files(String(address), fetch), zone, hint: newest, cache: new Map() });
    const read = path => within(path, async () => {
      const body = JSONText.document(await made.files.read(path, LIMIT.marker)), other = body.features?.filter(name => !FEATURES.includes(name)) ?? [];
      need(body.formatVersion === 1n && !other.length, `format version ${body.formatVersion} with [${other}] is not supported`);
      return body;
    });
    const { uuid: cloud } = await read("cloud.json"), marker = await read(`${zone}/zone.json`), isSigned = marker.features?.includes("signed") ?? false;
    return Object.assign(made, { cloud, marker, isSigned, signatures: isSigned ? "not verified" : null });
  }
  path(folder, number) { return `${this.zone}/${folder}/${String(number).padStart(20, "0")}.json`; }
  /** The numbers of the commits: from the folder's index page, otherwise the newest one by probing. */
  async numbers() {
    const listed = (await this.files.list(`${this.zone}/commits`)).map(name => /^([0-9]{20})\.json$/.exec(name)).filter(Boolean);
    if (listed.length) return listed.map(found => Number(found[1])).sort((a, b) => a - b);
    const exists = async number => number > 0 && this.files.open(this.path("commits", number), 0, null).then(stream => (stream?.close(), !!stream));
    let low = this.hint, step = 1;
    if (!await exists(low)) throw new ZoneError(`${this.zone}/commits`, "the server does not list this folder: state the number of a version that exists");
    for (; await exists(low + step); step *= 2) low += step;
    for (; step >= 1; step = Math.floor(step / 2)) if (await exists(low + step)) low += step;
    return Array.from({ length: low - this.hint + 1 }, (_, i) => this.hint + i);
  }
  /** A commit whose own content is in order, with its hash. */
  async commit(number) {
    if (this.cache.has(number)) return this.cache.get(number);
    const path = this.path("commits", number), bytes = await this.files.read(path, LIMIT.commit, "the commit is missing");
    const made = await within(path, async () => {
      const commit = await checksummed(bytes, "commit", this.isSigned);
      need((commit.requires ?? []).every(name => [...FEATURES, "zoneEvents"].includes(name)), `it requires ${commit.requires}: a newer reader is needed`);
      need(commit.number === BigInt(number) && commit.cloud === this.cloud && commit.zone === this.zone, "it belongs to another place");
      need((commit.parent === undefined) === (number === 1) && /^2(0|100)/.test(commit.clock), "its parent or its clock");
      need(commit.device === this.marker.creator || (number > 1 && this.marker.publishers === "many"), `${commit.device} may not publish`);
      checkRecords(commit.saved, number);
      return { ...commit, hash: await sha256(bytes) };
    });
    this.cache.set(number, made);
    return made;
  }
  /** The state that a checkpoint states. */
  async checkpoint(named) {
    const number = count(named.number), path = this.path("checkpoints", number), bytes = await this.files.read(path, LIMIT.checkpoint, "the checkpoint is missing");
    return within(path, async () => {
      need(await sha256(bytes) === named.sha256, "another SHA-256 than the one that was named");
      const body = await checksummed(bytes, "checkpoint", false);
      need(body.number === BigInt(number) && body.cloud === this.cloud && body.zone === this.zone, "it belongs to another place");
      checkRecords(body.records, number);
      return { number, hash: body.commit, time: instant(body.timestamp), checkpoint: 0n,
        answered: body.answered ?? {}, records: new Map(body.records.map(record => [record.name, record])) };
    });
  }
  /** All records after a commit, from the checkpoint that it names on. */
  async state(number) {
    const last = await this.commit(number);
    if (last.zoneEvent?.kind === "moved") throw new ZoneError(this.zone, `the zone continues as ${last.zoneEvent.to?.zone}`);
    let state = { number: 0, records: new Map(), checkpoint: 0n, answered: {} };
    if (last.checkpoint) state = await this.checkpoint(last.checkpoint).catch(error => /is missing/.test(error.reason) ? state : Promise.reject(error));
    while (state.number < number) {
      const commit = await this.commit(state.number + 1), { time, answered, records } = state;
      await within(this.path("commits", state.number + 1), () => {
        const clock = instant(commit.clock), after = time === undefined ? clock : time + 1000n, checkpoint = commit.checkpoint?.number ?? 0n;
        need(commit.parent === state.hash, "its parent is not the commit before it");
        need(instant(commit.timestamp) === (clock > after ? clock : after), "the timestamp");
        need(checkpoint >= state.checkpoint && checkpoint < commit.number, "its checkpoint");
        need(Object.entries(answered).every(([device, edit]) => commit.answered?.[device] >= edit), "answered has fallen");
        need(!commit.zoneEvent, "an event");
        for (const record of commit.saved) records.set(record.name, record);
        for (const name of commit.deleted) records.delete(name);
        state = { number: state.number + 1, hash: commit.hash, time: instant(commit.timestamp), records, checkpoint, answered: commit.answered ?? {} };
      });
    }
    return state;
  }
  /** The versions whose commits exist, oldest first. */
  async versions() {
    let made = [], newer;
    for (const number of (await this.numbers()).reverse()) {
      if (newer && Number(newer.number) !== number + 1) break;
      const commit = await this.commit(number);
      if (newer && newer.parent !== commit.hash) throw new ZoneError(this.path("commits", number), "it is not the parent of the next commit");
      newer = commit;
      if (!commit.zoneEvent) made.unshift({ number, timestamp: commit.timestamp, device: commit.device });
    }
    return made;
  }
  /** A version, by default the newest. */
  async version(number) { return new Version(this, await this.state(number ?? (await this.numbers()).pop())); }
}

/** One version of a zone: the names of its tables, their columns and rows. */
class Version {
  constructor(zone, state) {
    Object.assign(this, { number: state.number, datasets: new Map() });
    const described = [...state.records.values()].filter(({ type, name, fields }) => type === "SnapshotPin" && name.startsWith("table.") && fields.description);
    const datasets = described.map(({ fields }) => JSONText.document(utf8.encode(fields.description.value)).dataset);
    const names = new Map(datasets.map(({ name, recordName }) => [recordName ?? `${name}_data`, name]));
    for (const [name, { fields }] of state.records) {
      if (fields.dataFile) this.datasets.set(names.get(name) ?? name.replace(/_data$/, ""), new Table(zone, name, fields));
    }
  }
  tables() { return [...this.datasets.keys()].sort(); }
  table(name) { return this.datasets.get(name) ?? new ZoneError("", `version ${this.number} has no table ${name}`).raise(); }
  /** Iterates over the rows in the order of their keys. If this ends without an error, every byte was checked. */
  rows(name) { return this.table(name).rows(); }
  async columns(name) { return (await this.table(name).index()).schema.names; }
}

class Table {
  constructor(zone, record, fields) {
    const files = (fields.changeFiles?.value ?? []).map(one => one.value), data = fields.dataFile.value, where = `${zone.zone}: record ${record}`;
    Object.assign(this, { zone, files, data, where, path: `${zone.zone}/${data.path}`, count: Number(fields.recordCount.value), timestamp: fields.syncTimestamp.value });
  }
  /** The block index, checked whole. */
  async index() {
    if (this.checked) return this.checked;
    const path = this.path.replace(/\.json\.gz$/, ".index.json"), bytes = await this.zone.files.stated(path, this.data.index ?? {}, LIMIT.index);
    return this.checked = await within(path, () => {
      const index = JSONText.document(bytes), members = [index.header, ...index.blocks, index.tail];
      need(index.formatVersion === 1n, `format version ${index.formatVersion} is not supported`);
      index.schema = new Schema(index);
      let offset = 0, raw = 0, entities = 0, before = "";
      for (const member of members) {
        for (const name of ["offset", "length", "rawLength"]) member[name] = count(member[name]);
        const most = Math.min(1032 * member.length, member === index.header ? 256 : member === index.tail ? LIMIT.tail : LIMIT.block);
        need(member.offset === offset && member.length > 0 && member.rawLength > 0 && member.rawLength <= most, "a member's place or length");
        [offset, raw] = [offset + member.length, raw + member.rawLength];
      }
      for (const block of index.blocks) {
        block.first = index.schema.written(block.firstKey);
        block.count = count(block.count, Math.floor(block.rawLength / 8));
        need(block.count > 0 && before < block.first, "a block's count or first key");
        [before, entities] = [block.first, entities + block.count];
      }
      need(offset === count(index.size) && index.size === this.data.size && raw === count(index.rawSize) && index.rawSize === this.data.rawSize, "a sum of sizes");
      need(entities === count(index.recordCount) && (this.files.length || entities === this.count), "the number of entities");
      return index;
    });
  }
  async member(stream, member, separator, what) {
    const data = await stream.read(member.length);
    return within(this.path, async () => {
      need(data.length === member.length, `${what}: the file ends too early`);
      need(await sha256(data) === member.sha256, `${what}: another sha256 than the index states`);
      const raw = await inflate(data, member.rawLength);
      need(await sha256(raw.subarray(separator)) === member.rawSha256, `${what}: another rawSha256 than the index states`);
      return new JSONText(strict.decode(raw));
    });
  }
  /** The rows of the snapshot asset, as pairs of key and row. */
  async *snapshot(index) {
    const { schema, blocks } = index, last = await this.zone.files.open(this.path, index.tail.offset), tail = await this.member(last, index.tail, 0, "tail");
    if ((await last.read(1)).length) throw new ZoneError(this.path, "more bytes than the commit states");
    const unwanted = new Set(await within(this.path, () => (tail.take("\n]"), schema.tail(tail)))), stream = await this.zone.files.open(this.path);
    try {
      const header = /^\{"syncTimestamp":"([^"]*)","([^"]*)":\[$/.exec((await this.member(stream, index.header, 0, "header")).text);
      if (header?.[2] !== index.dataset || (!this.files.length && header[1] !== this.timestamp)) throw new ZoneError(this.path, "another dataset or syncTimestamp than the record's");
      let before = "";
      for (const [number, block] of blocks.entries()) {
        const json = await this.member(stream, block, number ? 2 : 1, `block ${number}`), rows = [];
        await within(this.path, () => {
          while (json.at < json.text.length) {
            json.take(number || rows.length ? ",\n" : "\n");
            const row = schema.entity(json), key = schema.key(row);
            need(key > before && (rows.length || key === block.first) && !unwanted.has(key), "the order of keys, or an entity that is also deleted or held");
            rows.push([before = key, row]);
          }
          need(rows.length === block.count, "another number of entities than the index states");
        });
        yield* rows;
      }
    } finally {
      stream.close();
    }
  }
  /** What the change assets change: for each key { row }, { row, nulls } for a partial entity, or {} for no entity in the array. */
  async changes(index) {
    let all = new Map(), { schema } = index, before = this.data.path, time = this.files.length ? null : this.timestamp;
    for (const asset of this.files) {
      const path = `${this.zone.zone}/${asset.path}`, data = await this.zone.files.stated(path, asset, LIMIT.changes + 1024);
      await within(path, async () => {
        const json = new JSONText(strict.decode(await inflate(data, count(asset.rawSize, LIMIT.changes)))), made = new Map();
        time = (json.take('{"syncTimestamp":'), json.string());
        json.take(`,"after":"${before.split("/")[2].replace(/(\.changes)?\.json\.gz$/, "")}","${index.dataset}":[`);
        for (let last = ""; !json.has("\n]");) {
          json.take(made.size ? ",\n" : "\n");
          const isPartial = json.has("["), row = schema.entity(json, !isPartial), key = schema.key(row), nulls = new Set();
          need(key > last, "the order of keys");
          while (isPartial && json.has(",")) {
            const name = json.string(), column = schema.columns.get(name);
            need(!nulls.has(name) && !(name in row) && !schema.keyNames.includes(name) && (!column?.type || column.optional), `NULL in ${name}`);
            nulls.add(name);
          }
          if (isPartial) json.take("]");
          made.set(last = key, isPartial ? { row, nulls } : { row });
        }
        for (const key of schema.tail(json)) need(!made.has(key), "a key twice"), made.set(key, {});
        for (const [key, change] of made) {
          const earlier = all.get(key);
          need(!change.nulls || !earlier || earlier.row, "a partial entity without the entity that it changes");
          all.set(key, change.nulls && earlier ? patch(earlier, change) : change);
        }
      });
      before = asset.path;
    }
    if (time !== this.timestamp) throw new ZoneError(`${this.zone.zone}/${before}`, "another syncTimestamp than the record's");
    return all;
  }
  async *rows() {
    const index = await this.index(), changes = await this.changes(index), pending = [...changes.keys()].sort().reverse();
    let made = 0;
    const next = key => {
      if (!pending.length || (key !== undefined && pending.at(-1) >= key)) return null;
      const change = changes.get(pending.pop());
      return change.nulls ? new ZoneError(this.where, "a partial entity without the entity that it changes").raise() : change;
    };
    const merged = async function* (snapshot) {
      for await (const [key, row] of snapshot) {
        for (let added; (added = next(key));) yield added.row;
        const change = changes.get(key);
        if (change) pending.pop();
        yield change?.nulls ? patch({ row }, change).row : (change ?? { row }).row;
      }
      for (let added; (added = next());) yield added.row;
    };
    for await (const row of merged(this.snapshot(index))) if (row) made++, yield index.schema.finished(row);
    if (made !== this.count) throw new ZoneError(this.where, `${made} rows, where it states ${this.count}`);
  }
}

/** A partial entity over an earlier change, or over a row. */
function patch({ row, nulls }, change) {
  const merged = Object.assign(Object.create(null), row, change.row);
  for (const name of change.nulls) delete merged[name];
  return nulls ? { row: merged, nulls: new Set([...[...nulls].filter(name => !(name in change.row)), ...change.nulls]) } : { row: merged };
}
