'use strict';
// drive.js -- runs examples/inprocess/vesta_ids.js by the commands in README.  NODE_PATH has koffi's folder.
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const vesta = require(path.join(__dirname, '../../examples/inprocess/vesta_ids.js'));

const CHUNK = 190; // lines of 21 bytes fit into a write that a pipe keeps whole
let ids = null;

const failed = (error) => {
  if (!(error instanceof vesta.VestaError)) throw error;
  return `error ${error instanceof vesta.Pause ? `pause ${error.reason} ${error.waitMs}` : error.code} ${error.message}`;
};
const told = (numbers) => `ids ${Array.from(numbers).join(' ')}`;
const fields = (values) => `fields ${Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join(' ')}`;

/** Returns ids until the first error, and that error. */
async function take(count, next) {
  const numbers = [];
  try {
    for (let i = 0; i < count; i += 1) {
      numbers.push(await next());
      if (typeof numbers[i] !== 'bigint') throw new TypeError(`${numbers[i]} is not a BigInt`);
    }
  } catch (error) {
    return `${told(numbers)} ${failed(error)}`;
  }
  return told(numbers);
}

async function atOnce(callers, count) {
  const said = await Promise.all(Array.from({ length: Number(callers) }, () => take(count, () => ids.nextAsync())));
  return `ids${said.sort((a, b) => a.includes('error') - b.includes('error')).map((line) => line.slice(3)).join('')}`;
}

const COMMANDS = {
  open(waitMs, options = '') {
    const opened = vesta.open(decodeURIComponent(options), { waitMs: Number(waitMs) });
    ids?.close();
    ids = opened;
    return 'ok';
  },
  next: (count) => take(count, () => ids.next()),
  batch: (count) => told(ids.batch(Number(count))),
  at_once: atOnce,
  fork: () => 'none',
  uuid: (shape, n) => `text ${Array.from({ length: Number(n) }, () => ids.nextUuid(shape)).join(' ')}`,
  explain: (id) => fields(ids.explain(BigInt(id))),
  make: (...pairs) => told([ids.make(Object.fromEntries(pairs.map((pair) => pair.split('='))))]),
  format: (id, base) => `text ${vesta.format(BigInt(id), base)}`,
  parse: (base, text = '') => told([vesta.parse(decodeURIComponent(text), base)]),
  info: () => fields(ids.info()),
  close() {
    ids.close();
    return 'ok';
  },
};

async function serve() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [word, ...given] = line.split(' ');
    let said;
    try {
      said = await COMMANDS[word](...given);
    } catch (error) {
      said = failed(error);
    }
    process.stdout.write(`${said.replaceAll('\n', ' ')}\n`);
  }
}

function record(options) {
  const from = vesta.open(options, { waitMs: 60_000 });
  for (let chunk = 1; ; chunk += 1) {
    const numbers = chunk % 10 === 0 ? Array.from(from.batch(CHUNK)) : Array.from({ length: CHUNK }, () => from.next());
    fs.writeSync(1, `${numbers.join('\n')}\n`);
  }
}

if (process.argv[2] === 'record') record(process.argv[3]);
else serve();
