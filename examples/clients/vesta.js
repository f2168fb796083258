'use strict';
/**
 * vesta.js -- a client of vesta servers, for Node.js 16 and newer.  It needs only this file.
 *
 *     const { Client } = require('./vesta');
 *     const ids = new Client(['10.0.0.1:8089', '10.0.0.2:8089'], 'orders');
 *     const id = await ids.next();        // 2319542600899494910n
 *     JSON.stringify({ id: String(id) }); // as a string: JSON numbers of this size lose digits
 *     await ids.nextUuid7();              // '019b76da-a800-7000-8034-940635bd87f1'
 *     ids.close();
 *
 * With credentials and TLS:
 *
 *     new Client(['rediss://shop@ids1.example:8089'], 'orders', { secretFile: '/etc/shop/ids.secret', tlsCa: '/etc/shop/ca.pem' });
 *
 * The client fetches blocks from the servers and computes the ids of a block by itself, so most calls need no network.
 * When a tenth of a block is used, it fetches the next one.  Each worker and child process must create its own client.
 */
const crypto = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { performance } = require('node:perf_hooks'); // a monotonic clock

const SIZE_MAX = 100_000;
const MS_MAX = 86_400_000;
const REST_MS_MIN = 100;
const REST_MS_MAX = 6_400;
const REPLY_BYTES_MAX = 65_536;
const WIDE_MAX = 2n ** 64n - 1n;
const SECRET_BYTES_MAX = 511;
const SERVER_TEXT_MAX = 2000;

// redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS.  A name and a secret may contain %XX escapes.
const PART = '(?:[!"$&-.0-9;->A-Z\\\\^-~]|%[0-9A-Fa-f]{2})';
const SERVER = new RegExp(`^(?:(rediss?)://(?:(${PART}*)(?::((?:${PART}|:)+))?@)?)?(\\[[0-9A-Fa-f:.]+\\]|[^[\\]\\s:/@]+):(\\d{1,5})(/0?)?$`);

/** The defaults of options.  Times are milliseconds. */
const DEFAULTS = Object.freeze({ size: 1000, ttl: 10_000, timeout: 2000, wait: 5000 });

const OPTIONS = [...Object.keys(DEFAULTS), 'user', 'password', 'secretFile', 'tlsCa', 'tlsCertificate', 'tlsKey', 'tlsUnverified'];

/** No id was available.  The message lists every server and its last result. */
class VestaError extends Error {
  /**
   * @param {string} message
   * @param {'ERR_NO_BLOCK' | 'ERR_REFUSED' | 'ERR_CLOSED'} code ERR_REFUSED if all servers reject the request and a retry cannot help
   */
  constructor(message, code) {
    super(message);
    this.name = 'VestaError';
    this.code = code;
  }
}

/** An error reply of the Redis protocol. */
class Said extends Error {
  get passes() {
    return /^(TRYAGAIN|LOADING|OOM)\b/.test(this.message);
  }
}

/** A block of ids that a server issued to this client only. */
class Block {
  constructor(reply, name, size, askedAt) {
    if (!Array.isArray(reply)) throw new Error('its reply is no block');
    const values = new Map();
    for (let i = 0; i + 1 < reply.length; i += 2) values.set(reply[i], reply[i + 1]);
    const number = (key, most) => {
      const text = String(values.get(key));
      if (!/^\d{1,20}$/.test(text) || BigInt(text) > most) throw new Error(`its ${key} '${text}' is no number up to ${most}`);
      return BigInt(text);
    };
    if (values.get('ns') !== name) throw new Error(`its reply is for '${values.get('ns')}', not for '${name}'`);
    this.kind = values.get('kind');
    if (this.kind !== 'ticks' && this.kind !== 'numbers') throw new Error(`its block is of kind '${this.kind}'`);
    this.first = number('first', WIDE_MAX);
    this.count = Number(number('count', BigInt(size)));
    this.stride = this.kind === 'ticks' ? 1n : number('stride', WIDE_MAX);
    if (this.count < 1 || this.stride < 1n) throw new Error('its block has no ids');
    this.last = this.first + BigInt(this.count - 1) * this.stride;
    let largest = this.last;
    if (this.kind === 'ticks') {
      this.base = number('base', WIDE_MAX);
      for (const key of ['seq_bits', 'time_shift', 'seq_shift', 'low_bits', 'low_shift']) this[key] = number(key, 63n);
      const ones = (bits) => (1n << BigInt(bits)) - 1n;
      const time = this.last >> this.seq_bits;
      const parts = [this.base, ones(time && time.toString(2).length) << this.time_shift,
        (ones(this.seq_bits) >> this.low_bits) << this.seq_shift, ones(this.low_bits) << this.low_shift];
      const all = parts.reduce((seen, part) => seen | part, 0n);
      if (this.low_bits > this.seq_bits || parts.reduce((sum, part) => sum + part, 0n) !== all) { // two ids could be equal
        throw new Error('its block has bits that overlap');
      }
      if (all > largest) largest = all;
    }
    if (largest > WIDE_MAX) throw new Error('its block goes past 2^64 - 1');
    this.layout = String(values.get('layout'));
    this.askedAt = askedAt;
    this.used = 0;
    this.mark = Math.ceil(this.count / 10);
    this.turn();
  }

  /** Computes the next id, and how many ids after it can be computed by adding the stride. */
  turn() {
    this.id = this.first + BigInt(this.used) * this.stride;
    this.step = this.stride;
    this.run = this.count;
    if (this.kind !== 'ticks') return;
    const tick = this.id;
    const seq = tick & ((1n << this.seq_bits) - 1n);
    const low = tick & ((1n << this.low_bits) - 1n);
    const time = (tick >> this.seq_bits) << this.time_shift;
    this.id = this.base | time | ((seq >> this.low_bits) << this.seq_shift) | (low << this.low_shift);
    const [bits, shift] = this.low_bits ? [this.low_bits, this.low_shift] : [this.seq_bits, this.seq_shift];
    this.step = 1n << shift;
    this.run = this.used + Number((1n << bits) - (tick & ((1n << bits) - 1n))); // the index of the first id that needs this method again
  }

  /** Returns the next id. */
  take() {
    const id = this.id;
    this.used += 1;
    if (this.used < this.run) this.id = id + this.step;
    else if (this.used < this.count) this.turn();
    return id;
  }

  /** Makes a UUID of version 7: the id's milliseconds, its other tick bits as a counter (RFC 9562, 6.2, method 1), random bits. */
  uuid7(id) {
    if (!this.units) {
      const found = / unit=(\d+)(us|ms|s) epoch=([^ ]+)/.exec(this.layout);
      if (!found) throw new RangeError('the ids of this name have no time: name a namespace, not a tag');
      this.units = [BigInt(found[1]) * { us: 1n, ms: 1000n, s: 1000000n }[found[2]], BigInt(Date.parse(found[3]))];
    }
    const [unit, epoch] = this.units;
    const ones = (bits) => (1n << bits) - 1n;
    const fields = id ^ this.base;
    const seq = (((fields >> this.seq_shift) & ones(this.seq_bits - this.low_bits)) << this.low_bits) | ((fields >> this.low_shift) & ones(this.low_bits));
    const us = (fields >> this.time_shift) * unit;
    const parts = (999n + unit) / unit; // units of less than a millisecond are counted too
    const bits = this.seq_bits + BigInt(parts > 1n ? (parts - 1n).toString(2).length : 0);
    if (bits > 42n || epoch < 0n || this.seq_shift > this.time_shift) {
      throw new RangeError(`this layout has no room for a UUID's counter, or begins before 1970: ${this.layout}`);
    }
    const random = BigInt(`0x${crypto.randomBytes(10).toString('hex')}`);
    const rest = ((((us % 1000n) / unit) << this.seq_bits) | seq) << (74n - bits) | (random & ones(74n - bits));
    const all = ((epoch + us / 1000n) << 80n) | (7n << 76n) | ((rest >> 62n) << 64n) | (2n << 62n) | (rest & ones(62n));
    return all.toString(16).padStart(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  overlaps(other) {
    return Boolean(other) && other.kind === this.kind && other.base === this.base && other.stride === this.stride &&
      other.first <= this.last && this.first <= other.last && (other.first - this.first) % this.stride === 0n;
  }
}

/** Returns the RESP2 value at `at`, as [value, end], or null if it is incomplete. */
function parse(text, at, depth = 0) {
  const stop = text.indexOf('\r\n', at);
  const kind = text[at];
  if (text.startsWith('HTTP/', at)) throw new Error('it answers HTTP: name its port of the Redis protocol');
  if (kind !== undefined && !'+-:$*'.includes(kind)) throw new Error('its reply is none of the Redis protocol');
  if (stop < 0) return null;
  const line = text.slice(at + 1, stop);
  let end = stop + 2;
  if (kind === '+') return [line, end];
  if (kind === '-') return [new Said(Buffer.from(line, 'latin1').toString().replace(/[\x00-\x1f\x7f]/g, '?')), end];
  if (!/^-?\d{1,20}$/.test(line)) throw new Error('its reply is none of the Redis protocol');
  if (kind === ':') return [line, end];
  const length = Number(line);
  if (length < 0 || length > REPLY_BYTES_MAX || (depth && kind === '*')) throw new Error(`its reply has a length of ${line}`);
  if (kind === '$') return text.length < end + length + 2 ? null : [text.slice(end, end + length), end + length + 2];
  const values = [];
  for (let i = 0; i < length; i += 1) {
    const value = parse(text, end, depth + 1);
    if (!value) return null;
    values.push(value[0]);
    end = value[1];
  }
  return [values, end];
}

/** The server's certificate is rejected, so a retry cannot help. */
class Distrust extends Error {
  constructor(error) {
    super(`its certificate is not accepted: ${error.message}`);
  }
}

const isAboutCertificate = (socket, error) => Boolean(socket.authorizationError) && error.code === socket.authorizationError;

/** Decodes the %XX escapes of a part of an address.  Returns null if it is not one line of text. */
function decoded(part) {
  try {
    const text = decodeURIComponent(part ?? '');
    return /[\x00-\x1f\x7f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** The client's credentials, and how it verifies servers. */
class Access {
  constructor(options, servers) {
    const { user, password, secretFile, tlsCa, tlsCertificate, tlsKey, tlsUnverified = false } = options;
    for (const [key, value] of Object.entries({ user, password, secretFile, tlsCa, tlsCertificate, tlsKey })) {
      if (value !== undefined && typeof value !== 'string') throw new TypeError(`${key}: a string is expected`);
    }
    if (typeof tlsUnverified !== 'boolean') throw new TypeError('tlsUnverified: true or false is expected'); // the string 'false' would count as true
    if (password && secretFile) throw new TypeError('password and secretFile cannot be combined');
    for (const server of servers) {
      if ((server.user || user) && !server.secret && !password && !secretFile) {
        throw new TypeError(`servers: ${server.address}: the client name has no secret. Set secretFile`);
      }
    }
    if ((tlsCa || tlsCertificate || tlsKey || tlsUnverified) && !servers.some((server) => server.isTls)) {
      throw new TypeError('a TLS option is set, but no server begins with rediss://');
    }
    if (tlsKey && !tlsCertificate) throw new TypeError('tlsKey is given, and no tlsCertificate');
    Object.assign(this, { user, password, secretFile, tlsCa, tlsCertificate, tlsKey, tlsUnverified });
  }

  /** Returns the AUTH command for a new connection.  A secret's file is read each time, so that the secret can be replaced. */
  greeting(server) {
    let secret = server.secret || this.password;
    if (!secret && this.secretFile) {
      [secret] = fs.readFileSync(this.secretFile, 'utf8').replace(/^\uFEFF/, '').split(/\r?\n/, 1);
      if (!secret || Buffer.byteLength(secret) > SECRET_BYTES_MAX) {
        throw new Error(`secretFile ${this.secretFile}: its first line is not a secret of 1 to ${SECRET_BYTES_MAX} bytes`);
      }
    }
    if (!secret) return null;
    const user = server.user || this.user;
    return user ? ['AUTH', user, secret] : ['AUTH', secret];
  }

  /** Reads the files for each connection, so that they can be replaced. */
  tls(host) {
    const read = (path) => (path ? fs.readFileSync(path) : undefined);
    return { servername: net.isIP(host) ? '' : host, minVersion: 'TLSv1.2', rejectUnauthorized: !this.tlsUnverified,
      ca: read(this.tlsCa), cert: read(this.tlsCertificate), key: read(this.tlsKey ?? this.tlsCertificate) };
  }
}

/** Hides an error that repeats the secret, because Redis repeats the arguments of an unknown command. */
function withoutSecret(reply, greeting) {
  const isTold = reply instanceof Said && reply.message.includes(greeting.at(-1).slice(0, 8));
  return isTold ? new Said('its reply to AUTH is not shown, because it repeats the secret') : reply;
}

/** A server: its connection, and the end of its pause after a failure. */
class Server {
  constructor(text, number) {
    const [, scheme, user, secret, host, port, path] = (text.length <= SERVER_TEXT_MAX && SERVER.exec(text)) || [];
    Object.assign(this, { user: decoded(user), secret: decoded(secret), isTls: scheme === 'rediss' });
    const isNobody = user === '' && !secret;
    if (!host || Number(port) < 1 || Number(port) > 65535 || isNobody || this.user === null || this.secret === null || (path && !scheme)) {
      const shown = /@|:\/\//.test(text) ? `${number}, which is not shown because it may have a secret,` : `'${text}'`;
      throw new RangeError(`servers: ${shown} is neither HOST:PORT of the Redis protocol, with a port from 1 to 65535, nor ` +
        'redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS, where special characters in a name or a secret are written as %XX');
    }
    Object.assign(this, { address: `${host}:${port}`, host: host.replace(/[[\]]/g, ''), port: Number(port), socket: null, pending: null });
    Object.assign(this, { errors: 0, said: 'not asked yet', refuses: false, restMs: 0, restsUntil: 0 });
  }

  connect(access) {
    const to = { host: this.host, port: this.port, noDelay: true };
    const socket = (this.isTls ? tls.connect({ ...to, ...access.tls(this.host) }) : net.connect(to)).setEncoding('latin1').unref();
    socket.on('data', (chunk) => this.read(socket, chunk));
    socket.on('error', (error) => this.end(socket, isAboutCertificate(socket, error) ? new Distrust(error) : error));
    socket.on('close', () => this.end(socket, new Error('closed the connection')));
    this.socket = socket;
  }

  read(socket, chunk) {
    const { pending } = this;
    if (socket !== this.socket || !pending) return this.end(socket); // no request is pending
    pending.got += chunk;
    try {
      const reply = parse(pending.got, 0);
      if (reply && reply[1] === pending.got.length) return this.settle(null, reply[0]);
      if (reply || pending.got.length > REPLY_BYTES_MAX) throw new Error('its reply has bytes that were not asked for');
    } catch (error) {
      return this.end(socket, error);
    }
  }

  settle(error, reply) {
    const { pending } = this;
    this.pending = null;
    if (this.socket) this.socket.unref(); // an idle connection must not keep the process alive
    if (!pending) return;
    clearTimeout(pending.timer);
    if (error) pending.reject(error);
    else pending.resolve(reply);
  }

  /** Closes the connection, because a late reply would be read as the reply to the next request. */
  end(socket, error = new Error('ended the connection')) {
    if (socket) socket.destroy();
    if (socket !== this.socket) return;
    this.socket = null;
    this.settle(error);
  }

  /** Resolves when the pending request is settled. */
  wait(until) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.end(this.socket, new Error('timed out')), Math.max(0, until - performance.now()));
      this.pending = { resolve, reject, timer, got: '' };
      this.socket.ref();
    });
  }

  /** Sends a request and returns the reply.  An error reply of the server counts as a reply. */
  async say(words, until) {
    if (!this.socket) throw new Error('closed the connection');
    this.socket.write(`*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join(''));
    return this.wait(until);
  }

  async ask(words, access, until) {
    const isOld = Boolean(this.socket);
    let reply = isOld ? await this.say(words, until) : null;
    if (isOld && reply instanceof Said && /^(NOAUTH|NOPERM)\b/.test(reply.message)) {
      this.end(this.socket); // retries on a new connection, because the secret may have been replaced
    }
    if (!this.socket) {
      const greeting = access.greeting(this);
      this.connect(access);
      if (this.isTls) { // verify the server before sending anything
        this.socket.once('secureConnect', () => this.settle(null));
        await this.wait(until);
      }
      reply = greeting ? withoutSecret(await this.say(greeting, until), greeting) : 'OK';
      if (reply === 'OK') reply = await this.say(words, until);
    }
    if (reply instanceof Said) throw reply;
    return reply;
  }

  failed(error) {
    this.refuses = error instanceof Distrust || (error instanceof Said && !error.passes);
    this.restMs = this.refuses ? REST_MS_MAX : Math.min(Math.max(2 * this.restMs, REST_MS_MIN), REST_MS_MAX);
    this.restsUntil = performance.now() + this.restMs;
    this.errors += 1;
    this.said = error.message;
    if (!(error instanceof Said && error.passes)) this.end(this.socket);
  }
}

/** Issues ids of a namespace or a tag. */
class Client {
  #servers; #name; #size; #ttl; #timeout; #wait; #access;
  #block = null; #spare = null; #before = null;
  #fetching = null; #waiting = 0; #wake = () => {}; #closed = false;
  #blocks = 0; #requests = 0; #drops = 0;

  /**
   * Checks the options.  The first id connects to a server.
   * @param {string[]} servers 'host:port', '[v6]:port' or 'redis://name:secret@host:port', with TLS 'rediss://...'
   * @param {string} name the namespace or tag
   * @param {object} [options] times are milliseconds
   * @param {number} [options.size] ids per block, 1 to 100000
   * @param {number} [options.ttl] maximum age of a block, after which its unused ids are discarded
   * @param {number} [options.timeout] maximum time of a request to a server, including the connection
   * @param {number} [options.wait] maximum time that next() waits for a block, or 0 to never wait
   * @param {string} [options.user] the client's name, if an address has none
   * @param {string} [options.password] the client's secret, if an address has none
   * @param {string} [options.secretFile] a file with the secret in its first line, instead of password
   * @param {string} [options.tlsCa] PEM file of the certificate authorities for rediss:// servers
   * @param {string} [options.tlsCertificate] PEM file of the client's certificate, if servers require one
   * @param {string} [options.tlsKey] PEM file of the certificate's key, if it is a separate file
   * @param {boolean} [options.tlsUnverified] do not verify servers, for tests only, because an attacker could read the secret
   */
  constructor(servers, name, options = {}) {
    const { size = DEFAULTS.size, ttl = DEFAULTS.ttl, timeout = DEFAULTS.timeout, wait = DEFAULTS.wait } = options;
    const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key));
    if (unknown) throw new TypeError(`'${unknown}' is no option: there are ${OPTIONS.join(', ')}`);
    if (!Array.isArray(servers)) throw new TypeError("servers is an array of addresses, as ['ids1:8089', 'ids2:8089']");
    if (servers.length === 0) throw new TypeError('servers: at least one HOST:PORT is needed');
    if (!/^[A-Za-z0-9_.:-]{1,64}$/.test(name)) throw new RangeError(`name '${name}' is not 1 to 64 of A-Z a-z 0-9 _ . : -`);
    if (!Number.isInteger(size) || size < 1 || size > SIZE_MAX) throw new RangeError(`size ${size} is not from 1 to ${SIZE_MAX}`);
    for (const [key, value, least] of [['ttl', ttl, 1], ['timeout', timeout, 1], ['wait', wait, 0]]) {
      if (!(value >= least && value <= MS_MAX)) throw new RangeError(`${key} ${value} is not from ${least} to ${MS_MAX} ms`);
    }
    this.#servers = servers.map((text, i) => new Server(text, i + 1));
    this.#access = new Access(options, this.#servers);
    [this.#name, this.#size, this.#ttl, this.#timeout, this.#wait] = [name, size, ttl, timeout, wait];
  }

  /**
   * Returns the next id.  Waits for a block if necessary.
   * @returns {Promise<bigint>}
   * @throws {VestaError}
   */
  async next() {
    return this.#fromBlocks() ?? this.#nextSlowly();
  }

  /**
   * Returns a UUID of version 7, made from one id of a block.
   * @returns {Promise<string>}
   * @throws {VestaError} as next()
   * @throws {RangeError} if the ids of this name have no time
   */
  async nextUuid7() {
    return this.#fromBlocks(true) ?? this.#nextSlowly(true);
  }

  /**
   * Returns the next id without waiting, or null.  If there is none, it starts to fetch a block.
   * @returns {bigint | null}
   */
  take() {
    const id = this.#fromBlocks();
    if (id === null) this.#fetchAhead();
    return id;
  }

  #fromBlocks(asUuid = false) {
    const now = performance.now();
    for (let block = this.#block; block || this.#spare; block = this.#block) {
      if (block && block.used < block.count && now < block.askedAt + this.#ttl) {
        const id = asUuid ? block.uuid7(block.take()) : block.take();
        if (block.used >= block.mark && !this.#spare) this.#fetchAhead();
        return id;
      }
      if (block && block.used < block.count) this.#drops += 1;
      [this.#before, this.#block, this.#spare] = [block ?? this.#before, this.#spare, null];
    }
    return null;
  }

  async #nextSlowly(asUuid = false) {
    const until = performance.now() + this.#wait;
    this.#waiting += 1;
    try {
      for (;;) {
        const id = this.#fromBlocks(asUuid);
        if (id !== null) return id;
        const left = until - performance.now();
        const isOver = left <= 0 || (!this.#fetching && this.#refused());
        const fetching = this.#fetchAhead();
        if (this.#closed || isOver) throw this.#error();
        let timer;
        await Promise.race([fetching, new Promise((resolve) => { timer = setTimeout(resolve, left); })]);
        clearTimeout(timer);
      }
    } finally {
      this.#waiting -= 1;
    }
  }

  #refused() {
    return this.#servers.every((server) => server.refuses);
  }

  #error() {
    if (this.#closed) return new VestaError('this client is closed', 'ERR_CLOSED');
    const said = this.#servers.map((server) => `${server.address}: ${server.said}`).join('; ');
    return new VestaError(`no id of '${this.#name}': ${said}`, this.#refused() ? 'ERR_REFUSED' : 'ERR_NO_BLOCK');
  }

  /** Fetches a block.  There is one fetch at a time for all waiting callers. */
  #fetchAhead() {
    if (this.#closed) return null;
    this.#fetching ??= this.#fetch().finally(() => { this.#fetching = null; });
    return this.#fetching;
  }

  /** Requests a block from the servers that are not in a pause, in list order, until a block arrives or no caller waits. */
  async #fetch() {
    while (!this.#closed) {
      const now = performance.now();
      const when = (server) => Math.max(server.restsUntil, now);
      const server = this.#servers.reduce((best, other) => (when(other) < when(best) ? other : best));
      if (server.restsUntil > now) {
        if (this.#waiting === 0 || this.#refused()) return;
        await new Promise((resolve) => { // if a caller waits, a server's pause is shorter
          this.#wake = resolve;
          setTimeout(resolve, Math.min(server.restsUntil - now, REST_MS_MIN)).unref();
        });
      }
      if (this.#closed || await this.#ask(server, performance.now())) return;
    }
  }

  async #ask(server, askedAt) {
    this.#requests += 1;
    try {
      const words = ['VESTA.BLOCK', this.#name, String(this.#size)];
      const block = new Block(await server.ask(words, this.#access, askedAt + this.#timeout), this.#name, this.#size, askedAt);
      if (block.overlaps(this.#block) || block.overlaps(this.#before)) throw new Error('its block was given before');
      if (this.#closed) return true;
      [this.#spare, server.restMs, server.refuses] = [block, 0, false];
      server.said = 'replied, but its next block has not arrived yet';
      this.#blocks += 1;
      return true;
    } catch (error) {
      server.failed(error);
      return false;
    }
  }

  /** Closes the client.  The unused ids of its blocks are lost, and waiting calls fail. */
  close() {
    this.#closed = true;
    [this.#block, this.#spare] = [null, null];
    for (const server of this.#servers) server.end(server.socket);
    this.#wake();
  }

  /**
   * Returns counts: received blocks, requests, blocks that were dropped because of their age, and errors by server.
   * @returns {{ blocks: number, requests: number, drops: number, errors: Record<string, number> }}
   */
  info() {
    const errors = Object.fromEntries(this.#servers.map((server) => [server.address, server.errors]));
    return { blocks: this.#blocks, requests: this.#requests, drops: this.#drops, errors };
  }
}

module.exports = { Client, DEFAULTS, VestaError };
