// cache.js PORT -- connects node-redis with its client-side cache, and prints the reply. Exits with 1 after 20 s of silence.
const { createClient } = require("redis-5");
const port = process.argv[2];
const cache = { ttl: 0, maxEntries: 0, evictPolicy: "LRU" };
const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 3, clientSideCache: cache });
client.on("error", (error) => {
  console.log(error.message);
  process.exit(0);
});
client.connect().then(() => console.log("connected"));
setTimeout(() => process.exit(1), 20000);
