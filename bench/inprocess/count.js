'use strict';
// count.js OPTIONS SAMPLES EMPTY -- ns per id of examples/inprocess/vesta_ids.js, of an empty call through koffi (the library
// EMPTY), and of npm's generator of 64-bit ids with the most users.  NODE_PATH has the folder of both packages.
const path = require('node:path');
const koffi = require('koffi');
const { Snowflake } = require('@sapphire/snowflake');
const vesta = require(path.join(__dirname, '../../examples/inprocess/vesta_ids.js'));

const PIECES = 5;
const PIECE = process.env.BENCH_TINY ? 1000 : 100_000;
const [options, samples, library] = process.argv.slice(2);
const ids = vesta.open(options);
const empty = koffi.load(library).func('uint64_t empty(const void *object)');
const own = new Snowflake(new Date('2020-01-01T00:00:00.000Z'));
const object = koffi.alloc('int', 1);

const RUNS = {
  ours() { for (let i = 0; i < PIECE; i += 1) ids.next(); },
  empty() { for (let i = 0; i < PIECE; i += 1) empty(object); },
  own() { for (let i = 0; i < PIECE; i += 1) own.generate(); },
};

function cost(run) {
  const begun = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - begun) / PIECE;
}

const turn = () => Object.fromEntries(Object.entries(RUNS).map(([key, run]) => [key, cost(run)]));
for (let i = 0; i < 5; i += 1) turn();
for (let i = 0; i < Number(samples); i += 1) {
  const turns = Array.from({ length: PIECES }, turn);
  console.log(JSON.stringify(Object.fromEntries(Object.keys(RUNS).map((key) => [key, Math.min(...turns.map((one) => one[key]))]))));
}
const counted = new Set();
for (let i = 0; i < PIECE; i += 1) counted.add(ids.next());
console.log(JSON.stringify({ ids: PIECE, duplicates: PIECE - counted.size }));
