// flake.js -- ids of the npm package flake-idgen, whose id comes from `vesta lease run`.
//
//     vesta lease run -- node flake.js 1000
'use strict';
const FlakeId = require('flake-idgen');
const fs = require('fs');

const id = Number(process.env.VESTA_WORKER);
if (!Number.isInteger(id)) throw new Error('VESTA_WORKER is not set: start this program with vesta lease run');
const ids = new FlakeId({ id, epoch: 1288834974657 }); // one generator per process

function next() {
  for (;;) {
    try {
      return ids.next().readBigUInt64BE();
    } catch (error) {
      if (!/Sequence exceeded/.test(error.message)) throw error; // 4,096 ids in one millisecond: try the next one
    }
  }
}

for (let left = Number(process.argv[2] || 10); left > 0;) {
  let lines = '';
  for (let n = 0; n < 1000 && left > 0; n++, left--) lines += next() + '\n';
  fs.writeSync(1, lines);
}
