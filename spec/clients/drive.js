// drive.js -- runs examples/clients/vesta.js by the commands in README.
const path = require('node:path');
const readline = require('node:readline');
const { Client, DEFAULTS, VestaError } = require(path.join(__dirname, '../../examples/clients/vesta.js'));

const NUMBERS = ['size', 'ttl', 'timeout', 'wait'];
let client = null;

function open(...pairs) {
  if (client) client.close();
  const given = Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf('=');
    const key = pair.slice(0, at).replace(/_(.)/g, (_, letter) => letter.toUpperCase()); // secret_file: secretFile
    return [key, decodeURIComponent(pair.slice(at + 1))];
  }));
  const { servers = '', name = '', asText, ...options } = given;
  if ('tlsUnverified' in options) options.tlsUnverified = options.tlsUnverified === 'yes' || options.tlsUnverified;
  for (const key of NUMBERS) if (key in options) options[key] = Number(options[key]);
  try {
    client = new Client(asText ? servers : servers.split(',').filter(Boolean), name, options);
  } catch (error) {
    return `error ${error.message}`;
  }
  return 'ok';
}

/** Returns ids until the first error, and that error. */
async function take(count) {
  let ids = '';
  try {
    for (let i = 0; i < count; i += 1) ids += ` ${await client.next()}`;
  } catch (error) {
    if (!(error instanceof VestaError)) throw error;
    return [ids, ` error ${error.message}`];
  }
  return [ids, ''];
}

async function next(count) {
  return `ids${(await take(Number(count))).join('')}`;
}

async function uuids(count) {
  try {
    let said = 'uuids';
    for (let i = 0; i < Number(count); i += 1) said += ` ${await client.nextUuid7()}`;
    return said;
  } catch (error) {
    return `error ${error.message}`;
  }
}

async function atOnce(callers, count) {
  const said = await Promise.all(Array.from({ length: Number(callers) }, () => take(Number(count))));
  return `ids${said.map(([ids]) => ids).join('')}${said.map(([, error]) => error).find(Boolean) ?? ''}`;
}

function info() {
  const { errors, ...told } = client.info();
  const counts = Object.entries(told).map(([key, value]) => `${key}=${value}`);
  return `info ${counts.join(' ')} errors=${Object.entries(errors).map((pair) => pair.join(':')).join(',')}`;
}

function close() {
  client.close();
  return 'ok';
}

function defaults() {
  return `defaults ${Object.entries(DEFAULTS).map((pair) => pair.join('=')).join(' ')}`;
}

const COMMANDS = { defaults, open, next, at_once: atOnce, info, close, fork: () => 'none', uuids };

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [word, ...given] = line.split(' ');
    const said = word in COMMANDS ? await COMMANDS[word](...given) : `error no command ${word}`;
    process.stdout.write(`${said.replaceAll('\n', ' ')}\n`);
  }
}

main();
