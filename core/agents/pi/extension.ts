// auto-improve in Pi: tells the agent what its person approved, keeps what tools did, takes votes and decisions.
//
// One file, no build, no dependency. `auto-improve install pi` copies it and fills in INSTALLED; a bot starts
// Pi with `-e` and this very file. Three rules hold everywhere below:
//   1. Pi never waits for us and never breaks because of us: no process is started for a prompt or a tool call,
//      and whatever is missing, broken or full means "nothing of ours", with one quiet notice at most.
//   2. Nothing unmasked is written: secrets go before a text is cut and before it reaches the disk.
//   3. Only a person's command votes or decides. It runs the command line, which refuses under an agent.
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

type Json = Record<string, any>;
type Installed = { version: string; home: string; command: string[]; table: Json };

// What `install pi` knew: our folder, the command's absolute path, the table of secret patterns.
const INSTALLED: Installed | null = null;

// ---- who we are -------------------------------------------------------------------------------------------

const HOSTED = process.env.AUTO_IMPROVE_HOSTED; // the file of the extension that a bot brought
const AGENT = process.env.AUTO_IMPROVE_AGENT_ID || "pi";
const HOME = expand(process.env.AUTO_IMPROVE_HOME || INSTALLED?.home || "~/.auto-improve");
const SECTION = "auto_improve";
const MAX_BLOCK_B = 1 << 20;

function expand(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

/** Say whether a bot brought another copy of this file: that one speaks, we are silent. */
function isElsewhereHosted(): boolean {
  if (!HOSTED) return false;
  try {
    return fs.realpathSync(HOSTED) !== fs.realpathSync(fileURLToPath(import.meta.url));
  } catch {
    return true;
  }
}

/** Give the project of a folder: the real path of the nearest ancestor with `.git`, else its own. */
function projectOf(folder: string): string {
  let real = folder;
  try {
    real = fs.realpathSync(folder);
  } catch {
    return folder;
  }
  for (let at = real; ; at = dirname(at)) {
    if (fs.existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return real;
  }
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Give an id that sorts by time, as our store's do (UUIDv7). */
function newId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// ---- what the agent is told (the ready file; read again only when it changed) -----------------------------

type Block = { text: string; sha256: string };
const NOTHING: Block = { text: "", sha256: sha256("") };

class BlockFile {
  private readonly path: string;
  private stamp = "";
  private block = NOTHING;

  constructor(path: string) {
    this.path = path;
  }

  /** Give the block, null where the file is not there. Throws what is wrong with a file that is there. */
  read(): Block | null {
    let stat: fs.Stats;
    try {
      stat = fs.statSync(this.path);
    } catch (error: any) {
      if (error?.code === "ENOENT" || error?.code === "ENOTDIR") return null;
      throw error;
    }
    const stamp = `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    if (stamp === this.stamp) return this.block;
    this.block = NOTHING;
    this.stamp = "";
    if (!stat.isFile()) throw new Error("is no file"); // reading a pipe would wait for ever
    if (stat.size > MAX_BLOCK_B) throw new Error("is too large");
    const data = fs.readFileSync(this.path);
    const text = data.toString("utf8").replace(/\n+$/, "");
    if (text.trim() !== "") this.block = { text, sha256: sha256(data) };
    this.stamp = stamp;
    return this.block;
  }
}

/** Give the files of a session in order: the first that is there counts. */
function blockFiles(project: string): BlockFile[] {
  if (HOSTED) return process.env.AUTO_IMPROVE_CONTEXT_FILE ? [new BlockFile(process.env.AUTO_IMPROVE_CONTEXT_FILE)] : [];
  const folder = join(HOME, "context");
  return [`${sha256(project).slice(0, 8)}.md`, "global.md"].map((name) => new BlockFile(join(folder, name)));
}

/** Put the block where this version of Pi takes it; give what the handler has to return. */
function tell(event: any, text: string): Json | undefined {
  const sections = event?.systemPromptOptions?.sections;
  if (sections !== null && typeof sections === "object") {
    // Pi 1.x wraps each section in its name and tells the model only what has changed.
    if (text) sections[SECTION] = text;
    else delete sections[SECTION];
    return undefined;
  }
  if (!text || typeof event?.systemPrompt !== "string") return undefined;
  return { systemPrompt: `${event.systemPrompt}\n\n<${SECTION}>\n${text}\n</${SECTION}>` };
}

// ---- secrets out (the same table and the same steps as core/rules/redact.py) ------------------------------
//
// Texts are looked at as the bytes of their UTF-8, one character a byte, as RE2 does it in Python.

type Span = [number, number];
type Rule = {
  hint: RegExp;
  pattern: RegExp;
  except: RegExp[];
  nameNot?: RegExp;
  valueMust?: RegExp;
  minEntropy: number;
  isToken: boolean;
};

const MASK = "[masked]";
const PASSES = 6;
const WINDOW = 1024;
const SNIPPET = 300;
const MAX_ENCODED = 4096;
const ENCODED = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
const WORD_END = /[A-Za-z0-9_.-]*$/;
// prettier-ignore
const SPLITTER = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]+[0-~]|\x1b[0-Z\\-~]|[\x00-\x08\x0e-\x1f\x7f]|\\\r?\n[ \t]*|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xef\xb8[\x80-\x8f]|\xf3\xa0[\x80-\x87][\x80-\xbf]/g;

/** Write a pattern of the table as JavaScript reads it: RE2's `\s`, `.`, and line ends are narrower. */
function translated(source: string, flags: string): string {
  const isMultiline = flags.includes("m");
  let made = "";
  let isClass = false;
  for (let at = 0; at < source.length; at++) {
    const char = source[at];
    if (char === "\\") {
      const next = source[++at];
      if (next === "s") made += isClass ? "\\t\\n\\f\\r " : "[\\t\\n\\f\\r ]";
      else if (next === "S") made += isClass ? "\\x00-\\x08\\x0b\\x0e-\\x1f!-\\xff" : "[^\\t\\n\\f\\r ]";
      else made += char + next;
    } else if (isClass) {
      isClass = char !== "]";
      made += char === "[" ? "\\[" : char;
    } else if (char === "[") {
      isClass = true;
      made += char;
    } else if (char === ".") made += "[^\\n]";
    else if (char === "^" && isMultiline) made += "(?<![^\\n])";
    else if (char === "$" && isMultiline) made += "(?![^\\n])";
    else made += char;
  }
  return made;
}

function compiled(source: string, flags = "", more = ""): RegExp {
  return new RegExp(translated(source, flags), (flags.includes("i") ? "i" : "") + more);
}

function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let sum = 0;
  for (const count of counts.values()) sum -= (count / value.length) * Math.log2(count / value.length);
  return sum;
}

export class Redactor {
  private readonly rules: Rule[];
  private readonly own: string[];

  constructor(table: Json, ownSecrets: string[] = []) {
    this.own = [...new Set(ownSecrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
    const exceptions = new Map<string, RegExp>();
    for (const [name, { pattern, flags }] of Object.entries<Json>(table.exceptions)) {
      exceptions.set(name, compiled(pattern, flags));
    }
    this.rules = table.rules.map((entry: Json): Rule => ({
      hint: compiled(entry.hint, entry.flags),
      pattern: compiled(entry.pattern, entry.flags, "dg"),
      except: (entry.except ?? []).map((name: string) => exceptions.get(name)),
      nameNot: entry.name_not === undefined ? undefined : compiled(entry.name_not, "i"),
      valueMust: entry.value_must === undefined ? undefined : compiled(entry.value_must),
      minEntropy: entry.min_entropy ?? 0,
      isToken: Boolean(entry.token),
    }));
  }

  /** Give the text with each secret masked; the same text where there is none. */
  redact(text: string): string {
    let raw = Buffer.from(text, "utf8").toString("latin1");
    let isChanged = false;
    for (let pass = 0; pass < PASSES; pass++) {
      const spans = this.spans(raw);
      if (spans.length === 0) break; // a mask may bring a name and a value together: until nothing is found
      raw = replaced(raw, spans);
      isChanged = true;
    }
    return isChanged ? Buffer.from(raw, "latin1").toString("utf8") : text;
  }

  /** Give head and tail in at most 300 characters, masked before the cut. */
  snippet(text: string): string {
    if (text.length <= 2 * WINDOW || characters(text, 2 * WINDOW + 1).length <= 2 * WINDOW) return cut(strip(this.redact(text)));
    // A token that the window cuts in two would not be known by its half: its half goes.
    const first = characters(text, WINDOW).join("");
    const head = withoutLastToken(first) || characters(first, SNIPPET / 2).join("");
    const last = [...text.slice(-2 * WINDOW)].slice(-WINDOW).join("");
    const tail = last.replace(/^[^\s"'`<>]+/, "");
    return cut(strip(this.redact(`${head}\n…\n${tail}`)));
  }

  /** Compile every pattern, one a step: V8 does it at the first uses, and that is slow. */
  *warmUp(): Generator<void> {
    for (const rule of this.rules) {
      for (const pattern of [rule.hint, rule.pattern, rule.hint, rule.pattern]) {
        "a line of output, as there are many".search(pattern);
        yield;
      }
    }
  }

  private spans(raw: string): Span[] {
    const found = [...this.found(raw), ...this.ownSpans(raw)];
    if (raw.search(SPLITTER) >= 0) {
      const [whole, starts] = joined(raw);
      for (const [start, end] of [...this.found(whole), ...this.ownSpans(whole)]) {
        found.push([starts[start], starts[end - 1] + 1]);
      }
    }
    return merged(found.map((span) => widened(raw, span))).filter(([start, end]) => raw.slice(start, end) !== MASK);
  }

  private found(raw: string): Span[] {
    const spans: Span[] = [];
    for (const rule of this.rules) if (rule.hint.test(raw)) spans.push(...matches(rule, raw));
    for (const match of raw.matchAll(ENCODED)) {
      if (this.hidesToken(match[0])) spans.push([match.index, match.index + match[0].length]);
    }
    return spans;
  }

  private ownSpans(raw: string): Span[] {
    const spans: Span[] = [];
    for (const form of this.own) {
      for (let at = raw.indexOf(form); at >= 0; at = raw.indexOf(form, at + form.length)) {
        spans.push([at, at + form.length]);
      }
    }
    return spans;
  }

  private hidesToken(run: string, depth = 2): boolean {
    for (const plain of decoded(run.slice(0, MAX_ENCODED))) {
      if (this.rules.some((rule) => rule.isToken && rule.hint.test(plain) && matches(rule, plain).length > 0)) return true;
      const inner = depth > 1 ? plain.match(/[A-Za-z0-9+/_-]{24,}={0,2}/) : null;
      if (inner && this.hidesToken(inner[0], depth - 1)) return true;
    }
    return false;
  }
}

function matches(rule: Rule, raw: string): Span[] {
  const spans: Span[] = [];
  for (const match of raw.matchAll(rule.pattern)) {
    const whole = match.indices![0];
    const [start, end] = match.indices!.slice(1).find((span) => span !== undefined) ?? whole;
    if (isAccepted(rule, nameOf(raw, whole[0], start), raw.slice(start, end))) spans.push([start, end]);
  }
  return spans;
}

function isAccepted(rule: Rule, name: string, value: string): boolean {
  if (value === MASK || value === "") return false;
  if (rule.valueMust && !rule.valueMust.test(value)) return false;
  if (rule.minEntropy && entropy(value) < rule.minEntropy) return false;
  if (rule.nameNot?.test(name)) return false;
  return !rule.except.some((exception) => exception.test(value));
}

/** Give what stands before a value in its match, from the beginning of the word it starts in. */
function nameOf(raw: string, start: number, end: number): string {
  return raw.slice(Math.max(0, start - 40), start).match(WORD_END)![0] + raw.slice(start, end);
}

/** Give what a run of base64 or hexadecimal digits stands for, where that is plain. */
function decoded(run: string): string[] {
  const found: string[] = [];
  const digits = run.replace(/=+$/, "");
  const whole = digits.length % 4 === 1 ? digits.slice(0, -1) : digits;
  const plain = Buffer.from(whole, "base64").toString("latin1");
  if (plain.length >= 16 && !/[\x80-\xff]/.test(plain)) found.push(plain);
  if (run.length >= 32 && run.length % 2 === 0 && /^[0-9a-fA-F]+$/.test(run)) {
    found.push(Buffer.from(run, "hex").toString("latin1"));
  }
  return found;
}

/** Give a value as itself, in base64 at each alignment, and as URLs and JSON write it. */
function formsOf(secret: string): string[] {
  if (secret.length < 8) return [];
  const raw = Buffer.from(secret, "utf8");
  const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  for (let shift = 0; shift < 3; shift++) {
    const coded = Buffer.concat([Buffer.alloc(shift), raw]).toString("base64");
    // First and last characters hold bits of the neighbours too.
    forms.push(coded.slice([0, 2, 3][shift], coded.length - [0, 3, 2][(shift + raw.length) % 3]));
  }
  return forms.map((form) => Buffer.from(form, "utf8").toString("latin1"));
}

/** Give the text without what splits tokens, and where each of its bytes stood. */
function joined(raw: string): [string, number[]] {
  const starts: number[] = [];
  let whole = "";
  let at = 0;
  const keep = (end: number) => {
    whole += raw.slice(at, end);
    for (; at < end; at++) starts.push(at);
  };
  for (const match of raw.matchAll(SPLITTER)) {
    keep(match.index);
    at = match.index + match[0].length;
  }
  keep(raw.length);
  return [whole, starts];
}

/** Give a span that cuts no character: a bounded repeat may end inside one. */
function widened(raw: string, [start, end]: Span): Span {
  while (start > 0 && (raw.charCodeAt(start) & 0xc0) === 0x80) start--;
  while (end < raw.length && (raw.charCodeAt(end) & 0xc0) === 0x80) end++;
  return [start, end];
}

function merged(spans: Span[]): Span[] {
  const made: Span[] = [];
  for (const [start, end] of spans.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    const last = made[made.length - 1];
    if (last && start <= last[1]) last[1] = Math.max(end, last[1]);
    else made.push([start, end]);
  }
  return made;
}

function replaced(raw: string, spans: Span[]): string {
  let made = "";
  let at = 0;
  for (const [start, end] of spans) {
    made += raw.slice(at, start) + MASK;
    at = end;
  }
  return made + raw.slice(at);
}

/** Cut a token off the end; a pattern with `$` would look for it from every place (S7). */
function withoutLastToken(text: string): string {
  let end = text.length;
  while (end > 0 && !/[\s"'`<>]/.test(text[end - 1])) end--;
  return text.slice(0, end);
}

/** Give the first characters of a text, none of them cut in half. */
function characters(text: string, count: number): string[] {
  return [...text.slice(0, 2 * count)].slice(0, count);
}

function cut(text: string): string {
  const all = [...text];
  if (all.length <= SNIPPET) return text;
  const head = (SNIPPET - 1) >> 1;
  return `${all.slice(0, head).join("")}…${all.slice(all.length - (SNIPPET - 1 - head)).join("")}`;
}

/** Take terminal escapes and control characters out (core/rules/terminal.py). */
function strip(text: string): string {
  if (!/[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(text)) return text;
  return text
    .replace(
      /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)|\x1b[ -/]+[0-~]|\x1b[0-Z\\-~]/g,
      "",
    )
    .replace(/\r\n|[\r\x0b\x0c\x85]/g, "\n")
    .replace(/[\x00-\x08\x0e-\x1f\x7f-\x9f]/g, "");
}

/** Read the table: the installed copy carries it, the packaged file has it beside it; null: nothing is kept. */
function openRedactor(): Redactor | null {
  try {
    const beside = join(dirname(fileURLToPath(import.meta.url)), "../../rules/secret_patterns.json");
    const table = INSTALLED?.table ?? JSON.parse(fs.readFileSync(beside, "utf8"));
    return new Redactor(table, ownSecrets());
  } catch {
    return null;
  }
}

/** Do one step after the other, each in a moment of its own, and keep no process alive for it. */
function unhurried(steps: Generator<void>, waitMs: number): void {
  setTimeout(() => {
    if (!steps.next().done) unhurried(steps, 2);
  }, waitMs).unref();
}

/** Give the values of our own environment that are keys: known by value, whatever they look like. */
function ownSecrets(): string[] {
  const isKey = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/;
  return Object.entries(process.env).flatMap(([name, value]) => (isKey.test(name) && value ? [value] : []));
}

// ---- the spool: one file a session, a line a finished call, taken in by auto-improve later ----------------

const SPOOL_FILE_B = 4 << 20;
const SPOOL_FOLDER_B = 64 << 20;
const SPOOL_DAYS = 30;

export class Spool {
  private readonly folder = join(HOME, "spool");
  private readonly name: string;
  private isKnown = false;

  constructor(session: string) {
    this.name = session.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 100) || "session";
  }

  /** Append a line whole or not at all. Throws what the disk says. */
  append(record: Json): void {
    const line = Buffer.from(`${JSON.stringify({ v: 1, ...record })}\n`, "utf8");
    const file = this.open();
    try {
      const stat = fs.fstatSync(file);
      if (!stat.isFile()) throw new Error("is no file");
      const { size } = stat;
      // A crash may have left half a line: what follows it begins on a line of its own.
      const data = this.isKnown || size === 0 || endsWithLine(file, size) ? line : Buffer.concat([Buffer.from("\n"), line]);
      this.write(file, data, size);
      this.isKnown = true;
      if (size + data.length > SPOOL_FILE_B) this.rotate();
    } finally {
      fs.closeSync(file);
    }
  }

  private open(): number {
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
    const flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
    const path = join(this.folder, `${this.name}.jsonl`);
    try {
      return fs.openSync(path, flags, 0o600);
    } catch (error: any) {
      if (error?.code !== "ENOENT") throw error;
      fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      return fs.openSync(path, flags, 0o600);
    }
  }

  private write(file: number, data: Buffer, size: number): void {
    let written = 0;
    try {
      written = fs.writeSync(file, data);
    } finally {
      if (written < data.length) fs.ftruncateSync(file, size); // a full disk took half of it
    }
    if (written < data.length) throw new Error("short write");
  }

  private rotate(): void {
    const path = join(this.folder, this.name);
    fs.renameSync(`${path}.jsonl`, `${path}.${Date.now()}.jsonl`);
    this.isKnown = false;
  }

  /** Drop what nobody took in: too old, or more than the folder may hold. Never throws, never waits. */
  async prune(): Promise<void> {
    try {
      const files = [];
      for (const name of await fs.promises.readdir(this.folder)) {
        if (!name.endsWith(".jsonl")) continue;
        const path = join(this.folder, name);
        const { mtimeMs, size } = await fs.promises.stat(path);
        files.push({ path, mtimeMs, size });
      }
      files.sort((a, b) => b.mtimeMs - a.mtimeMs);
      let total = 0;
      for (const { path, mtimeMs, size } of files) {
        total += size;
        const isOld = mtimeMs < Date.now() - SPOOL_DAYS * 86_400_000;
        if (isOld || total > SPOOL_FOLDER_B) await fs.promises.unlink(path);
      }
    } catch {
      // the folder is not there, or is somebody else's to tidy
    }
  }
}

function endsWithLine(file: number, size: number): boolean {
  const last = Buffer.alloc(1);
  fs.readSync(file, last, 0, 1, size - 1);
  return last[0] === 0x0a;
}

// ---- what a session does, as records (pi-protocol.md 5; learning.md 5) ------------------------------------

type Started = { tool: string; args: Json };
type Run = { id: string; ts: number; from: string | null; told: string; turn: number };

/** Keeps one session's runs and calls. Every method may throw: the wiring below catches. */
class Recorder {
  private readonly redactor: Redactor;
  private readonly spool: Spool;
  private readonly session: string;
  private readonly folder: string;
  private readonly project: string;
  private readonly open = new Map<string, Started>();
  private readonly ran = new Set<string>();
  private readonly waiting: (() => Json)[] = [];
  private run: Run | null = null;
  private isAborted = false;

  constructor(redactor: Redactor, session: string, folder: string, project: string) {
    this.redactor = redactor;
    this.session = session;
    this.spool = new Spool(session);
    this.folder = folder;
    this.project = project;
    void this.spool.prune();
  }

  begin(told: string, leaf: string | null): void {
    this.run = { id: newId(), ts: Date.now() / 1000, from: leaf, told, turn: 0 };
    this.isAborted = false;
  }

  turn(): void {
    if (this.run) this.run.turn += 1;
  }

  started(event: any): void {
    this.open.set(String(event.toolCallId), { tool: String(event.toolName), args: event.args ?? {} });
  }

  /** A result means that the tool itself ran: it comes for no unknown tool, bad arguments or blocked call. */
  resulted(event: any): void {
    this.ran.add(String(event.toolCallId));
  }

  /** Take the end of a call in; it is masked and written by `flush`, in a moment when Pi waits for its model. */
  ended(event: any, signal?: AbortSignal): void {
    const call = String(event.toolCallId);
    const { tool, args } = this.open.get(call) ?? { tool: String(event.toolName), args: {} };
    const hasRun = this.ran.delete(call) || event.durationMs !== undefined;
    this.open.delete(call);
    const output = textOf(event.result);
    const isError = event.isError === true;
    const cmd = stringOf(args.command) || stringOf(args.cmd);
    const file = cmd ? "" : stringOf(args.path) || stringOf(args.file_path);
    const now = Date.now() / 1000;
    const run = this.run?.id ?? this.session;
    const turn = Math.max(this.run?.turn ?? 0, 1);
    const wasStopped = signal?.aborted === true;
    this.waiting.push(() => ({
      kind: "trace",
      ts: now,
      session: this.session,
      run,
      turn,
      project: this.project,
      cwd: this.folder,
      agent: AGENT,
      call: call.slice(0, 200),
      tool: this.redactor.snippet(tool),
      is_error: isError,
      exit_code: exitCodeOf(event.result, output),
      aborted: isError && (wasStopped || isAbort(output) || isRefusal(output, hasRun)),
      file: file ? this.redactor.snippet(file) : null,
      cmd: cmd ? this.redactor.snippet(cmd) : null,
      snippet: this.redactor.snippet(output),
    }));
  }

  /** Write what is waiting, one call after the other. */
  flush(): void {
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) this.spool.append(next());
  }

  aborted(): void {
    this.isAborted = true;
  }

  end(sessionFile: string | undefined, leaf: string | null): void {
    const run = this.run;
    this.flush();
    if (!run) return;
    this.run = null;
    this.open.clear();
    this.ran.clear();
    this.spool.append({
      kind: "run",
      ts: run.ts,
      ended: Date.now() / 1000,
      session: this.session,
      run: run.id,
      project: this.project,
      cwd: this.folder,
      agent: AGENT,
      session_file: sessionFile ?? null,
      from: run.from,
      to: leaf,
      told: run.told,
      aborted: this.isAborted,
    });
  }
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Join the text blocks of a result, no more of them than head and tail need. */
function textOf(result: any): string {
  const blocks = Array.isArray(result?.content) ? result.content : [];
  return blocks.map((block: any) => (block?.type === "text" ? stringOf(block.text) : "")).join("");
}

function exitCodeOf(result: any, output: string): number | null {
  const code = result?.structuredContent?.exit_code;
  if (Number.isSafeInteger(code)) return code;
  const told = output.slice(-100).match(/Command exited with code (-?\d{1,9})\s*$/);
  return told ? Number(told[1]) : null;
}

function isAbort(output: string): boolean {
  return /(?:Command|Operation|Request was) aborted\s*$/.test(output.slice(-100));
}

/** A call that never ran and was no mistake of the model's was refused (by a person, or an extension's gate). */
function isRefusal(output: string, hasRun: boolean): boolean {
  return !hasRun && !/^(?:Tool .{1,200} not found|Validation failed for tool)/.test(output);
}

// ---- what people read -------------------------------------------------------------------------------------

const TEXTS: Record<string, Record<string, string>> = {
  en: {
    good: "Say that the last answer was good: /good [comment]",
    bad: "Say that the last answer was bad, and decide what is learned from it: /bad [comment]",
    lessons: "What the agent has learned: /lessons [global|project|debug|inactive|search words]",
    lesson_add: "Add a lesson: /lesson-add [debug] [project] rule",
    lesson_remove: "Disable a lesson: /lesson-remove id",
    evolver: "Failures that recur: /evolver status|show|accept|reject|promote|skills|demote, and review",
    evolver_lessons: "What the next run is told, byte for byte",
    noted: "Noted 👍",
    wrong: "What should have been different?",
    wrong_hint: "in a few words, or just Enter",
    analysing: "👎 noted, analysing… {seconds} s",
    nothing: "Nothing to learn: {note}",
    violated: "{id} says this already and was not followed (broken {times} times): {rule}",
    outdated: "A lesson changed meanwhile: say /bad again.",
    write: "Write it myself",
    leave: "Leave it",
    rule: "The lesson, as the agent will be told it",
    approve: "✅ Approve",
    disable: "✅ Disable the lesson",
    edit: "✏️ Edit",
    reject: "❌ Reject",
    later: "Later",
    approved: "Learned, {id}: {rule}",
    disabled: "Disabled: {id}",
    rejected: "Rejected: nothing is learned.",
    waits: "It waits: /evolver review shows it again.",
    none_wait: "Nothing waits for a decision.",
    none: "Nothing yet.",
    remove: "Disable {id}?",
    evolver_usage:
      "/evolver status | show id | accept id [note] | reject id#class (this error), reject id (everything about that command) | reopen id | promote id | skills | demote name | review",
    silence: "What should be silent from now on?",
    this_error: "❌ This error: {error}",
    everything: "🔇 Everything about {verb}",
    undecided: "Nothing was decided.",
    no_skills: "No pattern is a skill yet. /evolver promote id makes one of it.",
    usage: "Usage: {usage}",
    failed: "auto-improve: {reason}",
    missing: "the command {command} does not start. Run `auto-improve install pi` again.",
    slow: "no answer within {seconds} s: the machine is busy, or another program holds the store. Try again.",
    unwritable: "auto-improve cannot keep what tools do ({reason}); everything else goes on.",
    unreadable: "auto-improve cannot read its context file ({reason}); the agent is told no lessons.",
  },
  fr: {
    good: "Dire que la dernière réponse était bonne : /good [commentaire]",
    bad: "Dire que la dernière réponse était mauvaise, et décider ce qui en est appris : /bad [commentaire]",
    lessons: "Ce que l’agent a appris : /lessons [global|project|debug|inactive|search mots]",
    lesson_add: "Ajouter une leçon : /lesson-add [debug] [project] règle",
    lesson_remove: "Désactiver une leçon : /lesson-remove id",
    evolver: "Les échecs qui reviennent : /evolver status|show|accept|reject|promote|skills|demote, et review",
    evolver_lessons: "Ce qui est dit à la prochaine exécution, à l’octet près",
    noted: "Noté 👍",
    wrong: "Qu’aurait-il fallu faire autrement ?",
    wrong_hint: "en quelques mots, ou juste Entrée",
    analysing: "👎 noté, analyse… {seconds} s",
    nothing: "Rien à apprendre : {note}",
    violated: "{id} le dit déjà et n’a pas été suivie (enfreinte {times} fois) : {rule}",
    outdated: "Une leçon a changé entre-temps : refaites /bad.",
    write: "L’écrire moi-même",
    leave: "Laisser",
    rule: "La leçon, telle qu’elle sera dite à l’agent",
    approve: "✅ Approuver",
    disable: "✅ Désactiver la leçon",
    edit: "✏️ Modifier",
    reject: "❌ Rejeter",
    later: "Plus tard",
    approved: "Appris, {id} : {rule}",
    disabled: "Désactivée : {id}",
    rejected: "Rejetée : rien n’est appris.",
    waits: "Elle attend : /evolver review la montre à nouveau.",
    none_wait: "Rien n’attend de décision.",
    none: "Rien pour l’instant.",
    remove: "Désactiver {id} ?",
    evolver_usage:
      "/evolver status | show id | accept id [note] | reject id#classe (cette erreur), reject id (tout sur cette commande) | reopen id | promote id | skills | demote nom | review",
    silence: "Sur quoi faut-il se taire désormais ?",
    this_error: "❌ Cette erreur : {error}",
    everything: "🔇 Tout sur {verb}",
    undecided: "Rien n’a été décidé.",
    no_skills: "Aucun motif n’est encore une compétence. /evolver promote id en fait une.",
    usage: "Usage : {usage}",
    failed: "auto-improve : {reason}",
    missing: "la commande {command} ne démarre pas. Relancez `auto-improve install pi`.",
    slow: "pas de réponse en {seconds} s : la machine est occupée, ou un autre programme tient le dépôt. Réessayez.",
    unwritable: "auto-improve ne peut pas noter ce que font les outils ({reason}) ; le reste continue.",
    unreadable: "auto-improve ne peut pas lire son fichier de contexte ({reason}) ; aucune leçon n’est dite à l’agent.",
  },
};

function language(): string {
  const { AUTO_IMPROVE_LANGUAGE, LC_ALL, LC_MESSAGES, LANG } = process.env;
  if (AUTO_IMPROVE_LANGUAGE === "en" || AUTO_IMPROVE_LANGUAGE === "fr") return AUTO_IMPROVE_LANGUAGE;
  return (LC_ALL || LC_MESSAGES || LANG || "").toLowerCase().startsWith("fr") ? "fr" : "en";
}

function say(key: string, values: Json = {}): string {
  return TEXTS[language()][key].replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** Show a text; where nobody sees dialogs (print mode) on stderr, which no reader of answers reads. */
function show(ctx: any, text: string, level: "info" | "warning" | "error" = "info"): void {
  if (ctx.hasUI) ctx.ui.notify(text, level);
  else process.stderr.write(`${text}\n`);
}

// ---- tickets: how the command line knows that a person's command called it --------------------------------
//
// The agent's shell is a child of this very process and can take its own marks off. What it cannot do is listen
// on a socket as this process, or know a ticket that was never shown to it. Each ticket is good once.

class Tickets {
  private path: Promise<string> | null = null;
  private readonly open = new Set<string>();

  /** Give what the next command carries; nothing where the system has no such sockets. */
  async issue(): Promise<string[]> {
    if (process.platform !== "linux") return [];
    this.path ??= this.listen();
    const ticket = randomBytes(16).toString("hex");
    this.open.add(ticket);
    return [`AUTO_IMPROVE_TICKET=${ticket}:${await this.path}`];
  }

  private listen(): Promise<string> {
    const folder = fs.mkdtempSync(join(tmpdir(), "auto-improve-"));
    const path = join(folder, "s");
    process.once("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
    const server = createServer((socket) => {
      socket.setTimeout(2000, () => socket.destroy());
      socket.on("error", () => socket.destroy());
      socket.once("data", (data) => socket.end(this.open.delete(data.toString("latin1").trim()) ? "yes\n" : "no\n"));
    });
    server.unref();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, () => resolve(path));
    });
  }
}

const tickets = new Tickets();

// ---- the command line, which does everything else ---------------------------------------------------------

const SHORT_S = 20;
const ANALYSIS_S = 180;
const WORDS = 4000; // an argument has to stay well below what the system takes

/** A refusal or failure, in the command line's own words. */
class Failed extends Error {}

class CommandLine {
  private readonly pi: any;
  private readonly ctx: any;

  constructor(pi: any, ctx: any) {
    this.pi = pi;
    this.ctx = ctx;
  }

  /** Run a command; give what it printed. Throws Failed. `words` are a person's and never read as options. */
  async run(args: string[], words: string[] = [], limitS = SHORT_S): Promise<string> {
    const command = INSTALLED?.command ?? ["auto-improve"];
    const argv = [`AUTO_IMPROVE_HOME=${HOME}`, ...(await tickets.issue()), ...command, ...args, ...(words.length > 0 ? ["--", ...words] : [])];
    let done: any;
    try {
      done = await this.pi.exec("/usr/bin/env", argv, { cwd: this.ctx.cwd, timeout: limitS * 1000 });
    } catch (error: any) {
      throw new Failed(String(error?.message ?? error));
    }
    if (done.killed) throw new Failed(say("slow", { seconds: limitS }));
    if (done.code === 0) return String(done.stdout).trimEnd();
    if (done.code === 126 || done.code === 127) throw new Failed(say("missing", { command: command.join(" ") }));
    throw new Failed(String(done.stderr).trim().split("\n").pop() || `exit code ${done.code}`);
  }

  /** Run a command with `--json`. */
  async json(args: string[], words: string[] = [], limitS = SHORT_S): Promise<any> {
    const printed = await this.run([...args, "--json"], words, limitS);
    try {
      return JSON.parse(printed);
    } catch {
      throw new Failed(printed.slice(0, 200));
    }
  }
}

function words(text: string): string[] {
  const found = text.trim().slice(0, WORDS);
  return found === "" ? [] : [found];
}

// ---- votes and decisions: a person's, in Pi's own dialogs -------------------------------------------------

async function voteGood(line: CommandLine, ctx: any, comment: string): Promise<void> {
  await line.run(["feedback", "good", "--session", ctx.sessionManager.getSessionId()], words(comment));
  show(ctx, say("noted"));
}

async function voteBad(line: CommandLine, ctx: any, given: string): Promise<void> {
  let comment: string | undefined = given;
  if (!words(comment).length && ctx.hasUI) comment = await ctx.ui.input(say("wrong"), say("wrong_hint"));
  if (comment === undefined) return; // Escape: no vote after all
  const found = await analyse(line, ctx, comment);
  if (found.proposal) await decide(line, ctx, found.proposal.id);
  else await conclude(line, ctx, found);
}

async function analyse(line: CommandLine, ctx: any, comment: string): Promise<any> {
  const began = Date.now();
  const tick = () => ctx.ui.setStatus("auto-improve", say("analysing", { seconds: Math.round((Date.now() - began) / 1000) }));
  const timer = ctx.hasUI ? setInterval(tick, 1000) : undefined;
  try {
    if (ctx.hasUI) tick();
    const session = ctx.sessionManager.getSessionId();
    return await line.json(["feedback", "bad", "--session", session], words(comment), ANALYSIS_S);
  } finally {
    clearInterval(timer);
    if (ctx.hasUI) ctx.ui.setStatus("auto-improve", undefined);
  }
}

/** Say what came of a 👎 that made no proposal; the person may still write the lesson. */
async function conclude(line: CommandLine, ctx: any, found: any): Promise<void> {
  if (found.verdict === "violated" && found.lesson) {
    const lesson = await line.json(["lessons", "show", found.lesson]);
    show(ctx, say("violated", { id: lesson.id, times: lesson.violations, rule: lesson.rule }));
    return;
  }
  if (found.verdict === null) {
    show(ctx, say("outdated"), "warning");
    return;
  }
  const told = say("nothing", { note: found.note });
  if (!ctx.hasUI) return show(ctx, told);
  if ((await ctx.ui.select(told, [say("write"), say("leave")])) === say("write")) await addLesson(line, ctx, "");
}

/** Show a proposal word for word and take the decision on it; undecided, it waits. */
async function decide(line: CommandLine, ctx: any, id: string): Promise<void> {
  if (!ctx.hasUI) {
    show(ctx, await line.run(["proposals", "show", id]));
    return;
  }
  for (;;) {
    const proposal = await line.json(["proposals", "show", id]);
    if (proposal.state !== "pending") return;
    const card = await line.run(["proposals", "show", id]);
    const version = ["--version", String(proposal.version)];
    const approve = say(proposal.verdict === "harmful" ? "disable" : "approve");
    const chosen = await ctx.ui.select(card, [approve, say("edit"), say("reject"), say("later")]);
    try {
      if (chosen === approve) {
        const done = await line.json(["proposals", "approve", id, ...version]);
        const key = proposal.verdict === "harmful" ? "disabled" : "approved";
        return show(ctx, say(key, { id: done.result ?? proposal.lesson, rule: done.rule }));
      }
      if (chosen === say("reject")) {
        await line.json(["proposals", "reject", id, ...version]);
        return show(ctx, say("rejected"));
      }
      if (chosen !== say("edit")) return show(ctx, say("waits"));
      const rule = await ctx.ui.editor(say("rule"), proposal.rule);
      if (rule !== undefined && words(rule).length) await line.json(["proposals", "edit", ...version], [id, ...words(rule)]);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      show(ctx, say("failed", { reason: error.message }), "error"); // changed meanwhile: the card is shown anew
    }
  }
}

async function review(line: CommandLine, ctx: any): Promise<void> {
  const waiting = await line.json(["proposals", "list"]);
  if (waiting.length === 0) show(ctx, say("none_wait"));
  for (const { id } of waiting) await decide(line, ctx, id);
}

// ---- the other commands -----------------------------------------------------------------------------------

const DOMAINS = ["debug", "refactoring", "feature", "review", "general"];
const EVOLVER = ["status", "show", "accept", "reject", "reopen", "promote", "skills", "demote", "review"];
const LISTS = ["global", "project", "inactive", "search", ...DOMAINS];

async function listLessons(line: CommandLine, ctx: any, text: string): Promise<void> {
  const [first = "", ...rest] = text.trim().split(/\s+/);
  const name = first.toLowerCase() === "domain" ? (rest[0] ?? "") : first;
  const word = name.toLowerCase();
  const args = ["lessons", "list"];
  if (word === "global" || (word === "project" && first !== "domain")) args.push("--scope", word);
  else if (word === "inactive") args.push("--inactive");
  else if (word === "search" && rest.length) args.push(`--search=${rest.join(" ").slice(0, WORDS)}`);
  else if (DOMAINS.includes(word)) args.push("--domain", word);
  else if (first !== "") return show(ctx, say("usage", { usage: say("lessons") }), "warning");
  show(ctx, (await line.run(args)) || say("none"));
}

async function addLesson(line: CommandLine, ctx: any, text: string): Promise<void> {
  let rest = text.trim().split(/\s+/).filter(Boolean);
  const args = ["lessons", "add"];
  for (let turn = 0; turn < 2; turn++) {
    const first = rest[0]?.toLowerCase() ?? "";
    if (DOMAINS.includes(first)) args.push("--domain", first);
    else if (first === "project") args.push("--scope", first);
    else break;
    rest = rest.slice(1);
  }
  if (rest.length === 0 && ctx.hasUI) rest = [(await ctx.ui.input(say("rule"))) ?? ""];
  const rule = words(rest.join(" "));
  if (rule.length) show(ctx, await line.run(args, rule));
  else if (text.trim() !== "" || !ctx.hasUI) show(ctx, say("usage", { usage: say("lesson_add") }), "warning");
}

async function removeLesson(line: CommandLine, ctx: any, text: string): Promise<void> {
  const id = text.trim();
  if (!id) return show(ctx, say("usage", { usage: say("lesson_remove") }), "warning");
  const { rule } = await line.json(["lessons", "show"], [id]);
  if (ctx.hasUI && !(await ctx.ui.confirm(say("remove", { id }), rule))) return;
  show(ctx, await line.run(["lessons", "remove"], [id]));
}

async function evolve(line: CommandLine, ctx: any, text: string): Promise<void> {
  const [word = "status", id, ...note] = text.trim().split(/\s+/).filter(Boolean);
  const verb = word.toLowerCase();
  if (verb === "review") return review(line, ctx);
  if (verb === "status") return show(ctx, (await line.run(["patterns", "list"])) || say("none"));
  if (verb === "skills") return listSkills(line, ctx);
  // Only a note has several words: `reject bash:npm test` must not be taken for all of bash:npm.
  const isClear = EVOLVER.includes(verb) && id && (verb === "accept" || note.length === 0);
  if (!isClear) return show(ctx, say("usage", { usage: say("evolver_usage") }), "warning");
  if (verb === "reject" && ctx.hasUI) return rejectPattern(line, ctx, id);
  show(ctx, await line.run(["patterns", verb], [id, ...words(note.join(" "))]));
}

/** Ask what a rejection is about, as the chat's card does: one error, or everything of that command. */
async function rejectPattern(line: CommandLine, ctx: any, id: string): Promise<void> {
  const found = await line.json(["patterns", "show"], [id]);
  const card = await line.run(["patterns", "show"], [id]);
  const targets = new Map<string, string>();
  for (const each of found) targets.set(say("this_error", { error: each.error_class ?? each.id }), each.id);
  targets.set(say("everything", { verb: found[0].verb || found[0].tool }), id.split("#")[0]);
  const chosen = await ctx.ui.select(`${card}\n\n${say("silence")}`, [...targets.keys()]);
  const target = targets.get(chosen);
  if (target === undefined) return show(ctx, say("undecided")); // Escape
  show(ctx, await line.run(["patterns", "reject"], [target]));
}

/** List the skills that patterns became; the command line's own list has every skill there is. */
async function listSkills(line: CommandLine, ctx: any): Promise<void> {
  const all = await line.json(["skills", "list"]);
  const made = all.filter((each: Json) => stringOf(each.origin).startsWith("pattern "));
  show(ctx, made.map((each: Json) => `${each.name}  ${each.description}`).join("\n") || say("no_skills"));
}

async function showBlock(line: CommandLine, ctx: any): Promise<void> {
  show(ctx, (await line.run(["context"])) || say("none"));
}

type Command = (line: CommandLine, ctx: any, args: string) => Promise<void>;
const COMMANDS: Record<string, { run: Command; completions?: string[] }> = {
  good: { run: voteGood },
  bad: { run: voteBad },
  lessons: { run: listLessons, completions: LISTS },
  "lesson-add": { run: addLesson, completions: [...DOMAINS, "project"] },
  "lesson-remove": { run: removeLesson },
  evolver: { run: evolve, completions: EVOLVER },
  "evolver-lessons": { run: showBlock },
};

function register(pi: any, name: string, { run, completions }: { run: Command; completions?: string[] }): void {
  pi.registerCommand(name, {
    description: say(name.replace("-", "_")),
    getArgumentCompletions: (prefix: string) => {
      const found = (completions ?? []).filter((each) => each.startsWith(prefix));
      return found.length ? found.map((each) => ({ value: each, label: each })) : null;
    },
    handler: async (args: string, ctx: any) => {
      try {
        await run(new CommandLine(pi, ctx), ctx, String(args ?? ""));
      } catch (error: any) {
        show(ctx, say("failed", { reason: String(error?.message ?? error) }), "error");
      }
    },
  });
}

// ---- the wiring -------------------------------------------------------------------------------------------

/** One session of Pi: it makes a fresh instance of an extension for each. */
class Session {
  private readonly pi: any;
  private readonly redactor: Redactor | null = HOSTED ? null : openRedactor(); // a bot keeps its runs itself
  private folder: string | null = null;
  private project = "";
  private files: BlockFile[] = [];
  private recorder: Recorder | null = null;
  private readonly asks = new Set<string>();
  private handedIn = new Set<string>();
  private isNoticed = false;

  constructor(pi: any) {
    this.pi = pi;
    if (this.redactor) unhurried(this.redactor.warmUp(), 200);
  }

  /** Find out where we are, once; a session that was started again is another one. */
  private meet(ctx: any): void {
    if (this.folder === ctx.cwd) return;
    this.folder = ctx.cwd;
    this.project = projectOf(ctx.cwd);
    this.files = blockFiles(this.project);
    const id = String(ctx.sessionManager.getSessionId());
    this.recorder = this.redactor && new Recorder(this.redactor, id, ctx.cwd, this.project);
  }

  /** Run something of ours; what fails is said once, quietly, and never reaches Pi. */
  guard<T>(ctx: any, key: string, run: () => T): T | undefined {
    try {
      this.meet(ctx);
      return run();
    } catch (error: any) {
      this.notice(ctx, say(key, { reason: error?.code ?? error?.message ?? String(error) }));
      return undefined;
    }
  }

  private notice(ctx: any, text: string): void {
    try {
      if (this.isNoticed || !ctx.hasUI) return;
      this.isNoticed = true;
      ctx.ui.notify(text, "warning");
    } catch {
      // the session is gone, and with it whoever could be told
    }
  }

  beforeStart(event: any, ctx: any): Json | undefined {
    const block = this.guard(ctx, "unreadable", () => this.read()) ?? NOTHING;
    this.guard(ctx, "unwritable", () => this.recorder?.begin(block.sha256, ctx.sessionManager.getLeafId?.() ?? null));
    return tell(event, block.text);
  }

  private read(): Block {
    for (const file of this.files) {
      const block = file.read();
      if (block) return block;
    }
    return NOTHING;
  }

  keep(ctx: any, run: (recorder: Recorder) => void): void {
    this.guard(ctx, "unwritable", () => this.recorder && run(this.recorder));
  }

  toolEnded(event: any, ctx: any): void {
    const told = HOSTED || event.toolName !== "bash" || event.isError ? null : textOf(event.result).match(/\bp-\d+\b/);
    if (told && this.asks.delete(event.toolCallId)) this.handedIn.add(told[0]);
    this.keep(ctx, (recorder) => recorder.ended(event, ctx.signal));
    setImmediate(() => this.keep(ctx, (recorder) => recorder.flush()));
  }

  toolStarted(event: any, ctx: any): void {
    if (/\bproposals\s+propose\b/.test(stringOf(event.args?.command))) this.asks.add(event.toolCallId);
    this.keep(ctx, (recorder) => recorder.started(event));
  }

  settled(event: any, ctx: any): void {
    this.keep(ctx, (recorder) => {
      if (event?.aborted === true) recorder.aborted();
      recorder.end(ctx.sessionManager.getSessionFile?.(), ctx.sessionManager.getLeafId?.() ?? null);
    });
    void this.ask(ctx);
  }

  /** Bring what the agent handed in before the person; Pi does not wait for the answer. */
  private async ask(ctx: any): Promise<void> {
    const ids = [...this.handedIn];
    this.handedIn.clear();
    if (!ctx.hasUI) return;
    try {
      for (const id of ids) await decide(new CommandLine(this.pi, ctx), ctx, id);
    } catch (error: any) {
      this.notice(ctx, say("failed", { reason: String(error?.message ?? error) }));
    }
  }
}

export default function (pi: any): void {
  if (isElsewhereHosted()) return;
  for (const [name, command] of Object.entries(COMMANDS)) register(pi, name, command);
  const session = new Session(pi);
  pi.on("before_agent_start", (event: any, ctx: any) => session.beforeStart(event, ctx));
  if (HOSTED) return;
  pi.on("turn_start", (_event: any, ctx: any) => session.keep(ctx, (recorder) => recorder.turn()));
  pi.on("tool_execution_start", (event: any, ctx: any) => session.toolStarted(event, ctx));
  pi.on("tool_result", (event: any, ctx: any) => session.keep(ctx, (recorder) => recorder.resulted(event)));
  pi.on("tool_execution_end", (event: any, ctx: any) => session.toolEnded(event, ctx));
  pi.on("agent_settled", (event: any, ctx: any) => session.settled(event, ctx));
  pi.on("session_shutdown", (event: any, ctx: any) => session.keep(ctx, (recorder) => recorder.end(ctx.sessionManager.getSessionFile?.(), ctx.sessionManager.getLeafId?.() ?? null)));
}
