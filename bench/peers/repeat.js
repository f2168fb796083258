'use strict';
// repeat.js FOLDER -- counts the ids that npm's generators in FOLDER/node_modules issue twice.  Each generator gets one id per
// millisecond from a clock that this program controls:
//
//   back      the clock goes back 1 s in a running process
//   restart   the process ends, the clock goes back 1 s, and a new process starts with the same worker id
//   twins     two processes start with the generator's defaults (no worker id is configured) and the same clock
//
// Prints one JSON line per generator and case: ids issued, ids that were issued before, calls that the generator rejected.
const path = require('node:path');
const { execFileSync } = require('node:child_process');

const IDS = 5_000;
const BACK_MS = 1_000;
const EPOCH = Date.UTC(2020, 0, 1);
const BEGIN = Date.UTC(2026, 10, 1);
const folder = process.argv[2];
const from = (name) => require(path.join(folder, 'node_modules', name));

// Each maker takes a worker id, or undefined for the generator's default.
const makers = {
  '@sapphire/snowflake': (worker) => {
    const one = new (from('@sapphire/snowflake').Snowflake)(EPOCH);
    return () => one.generate(worker === undefined ? {} : { workerId: BigInt(worker) });
  },
  'simple-flakeid': (worker) => {
    if (worker === undefined) return null; // it has no default: its caller must configure a worker id
    const one = new (from('simple-flakeid').SnowflakeIdv1)({ workerId: worker });
    return () => one.NextBigId();
  },
  'nodejs-snowflake': (worker) => {
    const one = new (from('nodejs-snowflake').Snowflake)({ custom_epoch: EPOCH, ...(worker === undefined ? {} : { instance_id: worker }) });
    return () => one.getUniqueID();
  },
  'flake-idgen': (worker) => {
    const one = new (from('flake-idgen'))({ epoch: EPOCH, ...(worker === undefined ? {} : { worker }) });
    return () => one.next().toString('hex');
  },
};

let now = BEGIN;
globalThis.Date = class extends Date {
  constructor(...parts) {
    super(...(parts.length ? parts : [now]));
  }

  static now() {
    return now;
  }
};

function issue(next, count) {
  const ids = [];
  let rejected = 0;
  for (let i = 0; i < count; i += 1, now += 1) {
    try {
      ids.push(String(next()));
    } catch {
      rejected += 1;
    }
  }
  return { ids, rejected };
}

// The child's half of a case: ids of one process whose clock starts at `start`.
function child(name, worker, start) {
  now = start;
  console.log(JSON.stringify(issue(makers[name](worker), IDS)));
}

function spawned(name, worker, start) {
  const script = [__filename, folder, name, String(worker), String(start)];
  return JSON.parse(execFileSync(process.execPath, script, { maxBuffer: 1 << 26 }));
}

function counted(name, of, parts) {
  const ids = parts.flatMap((part) => part.ids);
  const rejected = parts.reduce((sum, part) => sum + part.rejected, 0);
  console.log(JSON.stringify({ generator: name, case: of, ids: ids.length, duplicates: ids.length - new Set(ids).size, rejected }));
}

function main() {
  for (const [name, maker] of Object.entries(makers)) {
    now = BEGIN;
    const next = maker(1);
    const before = issue(next, IDS);
    now -= BACK_MS;
    counted(name, 'back', [before, issue(next, IDS)]);
    counted(name, 'restart', [spawned(name, 1, BEGIN), spawned(name, 1, BEGIN + IDS - BACK_MS)]);
    if (maker(undefined)) counted(name, 'twins', [spawned(name, undefined, BEGIN), spawned(name, undefined, BEGIN)]);
  }
}

const [, , , name, worker, start] = process.argv;
if (name) child(name, worker === 'undefined' ? undefined : Number(worker), Number(start));
else main();
