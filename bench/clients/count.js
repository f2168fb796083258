'use strict';
// count.js ADDRESS NAME SAMPLES [FOLDER]: ids per second from examples/clients/vesta.js against an atomic counter behind a
// promise, and take() against the counter without a promise and against npm's generator in FOLDER/node_modules.
const path = require('node:path');
const { Client } = require('../../examples/clients/vesta.js');

const PIECE = process.env.BENCH_TINY ? 50_000 : 400_000;
const [address, name, samples, folder] = process.argv.slice(2);
const cell = new BigInt64Array(new SharedArrayBuffer(8));
const counter = { take: () => Atomics.add(cell, 0, 1n), next: async () => Atomics.add(cell, 0, 1n) };
const client = new Client([address], name, { size: 100_000, ttl: 600_000, wait: 30_000 });

const rate = (begun) => PIECE / ((performance.now() - begun) / 1000);

async function awaited(from) {
  const begun = performance.now();
  for (let i = 0; i < PIECE; i += 1) await from.next();
  return rate(begun);
}

/** Measures take() without awaiting, within one block. */
async function taken(take) {
  let ms = 0;
  for (let done = 0; done < PIECE; done += 50_000) {
    await client.next(); // let the event loop run, so that the next block arrives
    while (client.take() === null) await client.next();
    const begun = performance.now();
    for (let i = 0; i < 50_000; i += 1) if (take() === null) await client.next();
    ms += performance.now() - begun;
  }
  return PIECE / (ms / 1000);
}

async function main() {
  let generate = null;
  if (folder) {
    const { Snowflake } = require(path.join(folder, 'node_modules', '@sapphire', 'snowflake'));
    const snowflake = new Snowflake(new Date('2020-01-01T00:00:00.000Z'));
    generate = () => snowflake.generate();
  }
  const measured = async () => ({
    ours: await awaited(client), yard: await awaited(counter), take: await taken(() => client.take()),
    take_yard: await taken(counter.take), npm: generate ? await taken(generate) : 0,
  });
  await measured();
  for (let i = 0; i < Number(samples); i += 1) console.log(JSON.stringify(await measured()));
  const given = new Set();
  for (let i = 0; i < PIECE; i += 1) given.add(await client.next());
  console.log(JSON.stringify({ ids: PIECE, duplicates: PIECE - given.size }));
  client.close();
}

main();
