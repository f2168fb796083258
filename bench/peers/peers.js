'use strict';
// peers.js FOLDER -- npm's generators in FOLDER/node_modules: nanoseconds of CPU time per id for each line on stdin, then
// the counts.  A generator that throws because a millisecond is exhausted is called again, as an application would.
const path = require('node:path');
const readline = require('node:readline');

const PIECE = 10_000;
const COUNTED = 50_000;
const SHOWN = Date.UTC(2020, 0, 1);
const from = (name) => require(path.join(process.argv[2], 'node_modules', name));

async function makers() {
  const { Snowflake } = from('@sapphire/snowflake');
  const sapphire = new Snowflake(new Date(SHOWN));
  const yitter = new (from('simple-flakeid').SnowflakeIdv1)({ workerId: 1 });
  const nodejs = new (from('nodejs-snowflake').Snowflake)({ custom_epoch: SHOWN, instance_id: 1 });
  const flake = new (from('flake-idgen'))({ epoch: SHOWN });
  const { ulid } = from('ulid');
  const { v7 } = await import(path.join(process.argv[2], 'node_modules', 'uuid', 'dist-node', 'index.js'));
  return {
    sapphire: () => sapphire.generate(), yitter: () => yitter.NextBigId(), nodejs: () => nodejs.getUniqueID(),
    flake: () => flake.next().toString('hex'), ulid: () => ulid(), uuid7: () => v7(), uuid7_bytes: () => v7(undefined, new Uint8Array(16)),
  };
}

function must(next) {
  for (;;) {
    try {
      return next();
    } catch { /* again */ }
  }
}

let kept;

function nanoseconds(next) {
  const begun = process.cpuUsage();
  for (let i = 0; i < PIECE; i += 1) kept = must(next);
  const { user, system } = process.cpuUsage(begun);
  return ((user + system) * 1000) / PIECE;
}

function duplicates(next) {
  const seen = new Set();
  for (let i = 0; i < COUNTED; i += 1) seen.add(must(next));
  return COUNTED - seen.size;
}

async function main() {
  const peers = Object.entries(await makers());
  const each = (f) => Object.fromEntries(peers.map(([name, next]) => [name, f(next)]));
  each(nanoseconds); // warm-up
  for await (const _ of readline.createInterface({ input: process.stdin })) console.log(JSON.stringify(each(nanoseconds)));
  console.log(JSON.stringify({ ids: COUNTED, ...each(duplicates) }));
}

main();
