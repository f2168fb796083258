'use strict';
// vesta_ids.js -- ids in your own process, through libvesta and koffi (npm install koffi).  Copy this file and require it.
//
//     const ids = vesta.open('namespace=orders any_worker=true');
//     ids.next();                        // a BigInt. If no id is available, the event loop waits for up to waitMs
//     await ids.nextAsync();             // the same, but other code runs during the wait
//     ids.batch(500);                    // a BigUint64Array
//     ids.nextUuid();                    // a string
//     ids.explain(ids.next()).time;
//
// If libvesta is built but not installed, set LD_LIBRARY_PATH to its folder.  docs/languages.md has the rest.
const koffi = require('koffi');

const BATCH_MAX = 10_000;
const ANSWER_MAX = 4096;
const TEXT_MAX = 91; // as in vesta_uuid.h
const LIBRARY = 'libvesta.so.0';

/** code: the name of an error of vesta.h, such as "bad_option". */
class VestaError extends Error {
  constructor(code, text) {
    super(text);
    this.name = new.target.name;
    this.code = code;
  }
}

/** No id is available now.  reason: for example "clock_back".  waitMs: when to try again, -1 if waiting will not help. */
class Pause extends VestaError {
  constructor(text, reason, waitMs) {
    super('pause', text);
    this.reason = reason;
    this.waitMs = waitMs;
  }
}

function load() {
  try {
    return koffi.load(LIBRARY);
  } catch (error) {
    throw new Error(`${error.message}: install libvesta0, or set LD_LIBRARY_PATH to the folder of ${LIBRARY}`);
  }
}

const library = load();
const open = library.func('uint64_t vesta_plain_open(const char *options, void *answer)');
const close = library.func('void vesta_plain_close(uint64_t handle)');
const take = library.func('uint64_t vesta_plain_next(uint64_t handle)');
const takeWait = library.func('uint64_t vesta_plain_next_wait(uint64_t handle, int64_t wait_ms_max, void *answer)');
const batch = library.func('int vesta_plain_batch(uint64_t handle, void *ids, int64_t n, int64_t wait_ms_max, void *answer)');
const takeUuid = library.func('int vesta_plain_next_uuid(uint64_t handle, const char *shape, void *text, int64_t wait_ms_max, void *answer)');
const explain = library.func('int vesta_plain_explain(uint64_t handle, uint64_t id, void *answer)');
const make = library.func('int vesta_plain_make(uint64_t handle, const char *fields, void *answer)');
const info = library.func('int vesta_plain_info(uint64_t handle, void *answer)');
const format = library.func('int vesta_plain_format(const char *base, uint64_t id, void *answer)');
const parse = library.func('int vesta_plain_parse(const char *base, const char *text, uint64_t length, void *answer)');

function linesOf(told) {
  const lines = told.toString('utf8', 0, told.indexOf(0)).split('\n').slice(0, -1);
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

function failure(told) {
  const { code, text, reason, wait_ms: waitMs } = linesOf(told);
  return code === 'pause' ? new Pause(text, reason, Number(waitMs)) : new VestaError(code, text);
}

/** Calls a function, and returns the lines of its answer as an object. */
function answer(called, ...given) {
  const told = Buffer.alloc(ANSWER_MAX);
  if (called(...given, told) !== 0) throw failure(told);
  return linesOf(told);
}

function checked(id) {
  if (typeof id !== 'bigint' || BigInt.asUintN(64, id) !== id) {
    throw new VestaError('bad_id', `${id} is not an id, which is a BigInt of 64 bits`);
  }
  return id;
}

/** An open generator.  Each worker thread opens its own. */
class Generator {
  #handle;

  #waitMs;

  constructor(options, { waitMs = 2000 } = {}) {
    const told = Buffer.alloc(ANSWER_MAX);
    this.#handle = Number(open(options, told)); // an address, which a Number holds exactly
    this.#waitMs = waitMs;
    if (this.#handle === 0) throw failure(told);
  }

  next() {
    const id = take(this.#handle);
    return typeof id === 'bigint' ? id : this.#other(id);
  }

  /** Returns a promise of an id, and does not block the event loop. */
  async nextAsync() {
    const id = take(this.#handle);
    if (id) return BigInt(id);
    const told = Buffer.alloc(ANSWER_MAX);
    return new Promise((resolve, reject) => {
      takeWait.async(this.#handle, this.#waitMs, told, (error, later) => {
        if (error || !later) reject(error ?? failure(told));
        else resolve(BigInt(later));
      });
    });
  }

  /** Returns n ids. */
  batch(n) {
    if (!Number.isInteger(n) || n < 1 || n > BATCH_MAX) {
      throw new VestaError('bad_option', `a batch of ${n} ids was requested. Request 1 to ${BATCH_MAX}`);
    }
    const ids = new BigUint64Array(n);
    answer(batch, this.#handle, ids, n, this.#waitMs);
    return ids;
  }

  /** Returns a UUID as text.  shape: "uuid7", "uuid8", "ulid" or "hex32".  Waits like next. */
  nextUuid(shape = 'uuid7') {
    const text = Buffer.alloc(TEXT_MAX);
    answer(takeUuid, this.#handle, shape, text, this.#waitMs);
    return text.toString('latin1', 0, text.indexOf(0));
  }

  /** Returns the fields of an id and its time as unix_ms, an object of Numbers. */
  explain(id) {
    const told = answer(explain, this.#handle, checked(id));
    return Object.fromEntries(Object.entries(told).map(([name, value]) => [name, Number(value)]));
  }

  /** Makes an id by hand: make({ time: 5, seq: 1, worker: 3 }).  A generator may issue the same id. */
  make(fields) {
    const text = Object.entries(fields).map(([name, value]) => `${name}=${value}`).join(' ');
    return BigInt(answer(make, this.#handle, text).id);
  }

  /** Returns the generator's state, an object of strings. */
  info() {
    return answer(info, this.#handle);
  }

  /** Closes the generator.  Close it only if no nextAsync is pending.  Later calls throw a VestaError with the code "closed". */
  close() {
    const handle = this.#handle;
    this.#handle = 0;
    close(handle);
  }

  /** koffi returns a Number for an id below 2^53. */
  #other(id) {
    if (id) return BigInt(id);
    const told = Buffer.alloc(ANSWER_MAX);
    const later = takeWait(this.#handle, this.#waitMs, told);
    if (!later) throw failure(told);
    return BigInt(later);
  }
}

module.exports = {
  Generator,
  Pause,
  VestaError,
  open: (options, more) => new Generator(options, more),
  /** Returns an id as text.  base: decimal, hex, base32 or base62. */
  format: (id, base = 'decimal') => answer(format, base, checked(id)).text,
  parse: (text, base = 'decimal') => BigInt(answer(parse, base, text, Buffer.byteLength(text)).id),
};
