// tour.js PACKAGE[:RESP] PORT [PASSWORD] -- the tour of spec/program/clients/clients.py with ioredis or node-redis.
"use strict";
const [name, resp] = process.argv[2].split(":");
const port = Number(process.argv[3]);
const password = process.argv[4];
const username = process.env.TOUR_USER; // the client name of the password, if there are names
const tls = process.env.TOUR_CA && { ca: require("fs").readFileSync(process.env.TOUR_CA) };
const names = (count) => Array(count).fill("default");
const say = (step, ids) => console.log([step, ...ids].join(" "));

async function withIoredis({ Redis }) {
  const client = new Redis({ port, username, password, tls, connectionName: "tour", retryStrategy: null, lazyConnect: true });
  let failure;
  client.on("error", (error) => { failure = error; });
  await client.connect().catch((error) => { throw failure || error; });
  const all = async (pipeline, count) => {
    names(count).forEach((key) => pipeline.get(key));
    return (await pipeline.exec()).map(([error, id]) => { if (error) throw error; return id; });
  };
  say("id", [await client.get("default")]);
  say("batch", await client.mget(names(5)));
  say("pipeline", await all(client.pipeline(), 10));
  say("multi", await all(client.multi(), 3));
  await client.get("nowhere").catch((error) => console.log("error " + error.message));
  say("id", [await client.get("default")]);
  await client.quit();
}

async function withNodeRedis({ createClient }) {
  const socket = { host: "127.0.0.1", port, reconnectStrategy: false };
  const client = createClient({ socket, username, password, name: "tour", ...(resp && { RESP: Number(resp) }) });
  client.on("error", () => {});
  await client.connect();
  const all = (multi, count) => names(count).reduce((chain, key) => chain.get(key), multi);
  say("id", [await client.get("default")]);
  say("batch", await client.mGet(names(5)));
  say("pipeline", await Promise.all(names(10).map((key) => client.get(key)))); // in one pipeline
  say("multi", await all(client.multi(), 3).exec());
  await client.get("nowhere").catch((error) => console.log("error " + error.message));
  say("id", [await client.get("default")]);
  await client.quit();
}

(name.startsWith("ioredis") ? withIoredis : withNodeRedis)(require(name)).then(
  () => console.log("done"),
  (error) => { console.error(String(error)); process.exit(1); });
