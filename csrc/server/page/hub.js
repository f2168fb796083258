// hub.js -- shares one event stream among all pages of a browser.  A browser opens at most six connections to a server,
// so without sharing a seventh page would wait silently.  Runs as a shared worker, or in the page if the browser has no
// shared workers.

const RETRY_MS = 2000, SILENT_MS = 10000, STEPS = 360; // the server sends an event each second

const streams = new Map(); // by token, so that a page with a wrong token gets no events

// Encodes a token as UTF-8, because fetch only accepts headers whose characters fit a byte.
const bytesOf = text => String.fromCharCode(...new TextEncoder().encode(text));

export function ask(path, token, options = {}) {
  return fetch(path, { ...options, cache: 'no-store', headers: token ? { Authorization: 'Bearer ' + bytesOf(token) } : {} });
}

// A page posts { token } to receive the current state and all later events, and {} to leave.
export function join(port) {
  let stream = null;
  port.onmessage = ({ data: { token } }) => {
    if (stream) leave(stream, port);
    stream = token === undefined ? null : enter(token, port);
  };
}

function enter(token, port) {
  let stream = streams.get(token);
  if (!stream) {
    stream = { token, ports: new Set(), said: new Map(), abort: new AbortController() };
    streams.set(token, stream);
    watch(stream);
  }
  stream.ports.add(port);
  for (const message of stream.said.values()) port.postMessage(message);
  return stream;
}

function leave(stream, port) {
  stream.ports.delete(port);
  if (stream.ports.size === 0) end(stream);
}

function end(stream) {
  stream.abort.abort();
  if (streams.get(stream.token) === stream) streams.delete(stream.token);
}

async function watch(stream) {
  const { signal } = stream.abort;
  while (!signal.aborted) {
    const watchdog = guard(signal);
    let why = '';
    try {
      why = await follow(stream, watchdog);
    } catch (error) {
      why = error.message;
    }
    watchdog.end();
    if (signal.aborted) return;
    if (why === 'token') end(stream);
    tell(stream, { kind: 'end', why }, 'end');
    await new Promise(resume => setTimeout(resume, RETRY_MS));
  }
}

// Ends a silent connection, because a machine that has crashed does not close it.
function guard(signal) {
  const own = new AbortController();
  let timer = 0;
  const end = () => clearTimeout(timer);
  const heard = () => {
    end();
    timer = setTimeout(() => own.abort(new Error('the server has sent nothing for 10 s')), SILENT_MS);
  };
  signal.addEventListener('abort', () => own.abort(), { once: true });
  heard();
  return { signal: own.signal, heard, end };
}

// Reads events until the stream ends, and returns the reason.
async function follow(stream, { signal, heard }) {
  const reply = await ask('/admin/events?all=1', stream.token, { signal });
  if (reply.status === 401) return 'token';
  if (!reply.ok) throw new Error((await reply.json()).detail);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  stream.said.clear();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return 'the server closed the connection';
    heard();
    text += value;
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) hear(stream, event);
  }
}

function hear(stream, event) {
  const kind = /^event: (.*)$/m.exec(event), data = /^data: (.*)$/m.exec(event);
  if (!kind || !data) return;
  const said = JSON.parse(data[1]), at = `${kind[1]} ${said.namespace ?? ''}`, before = stream.said.get(at)?.said;
  tell(stream, { kind: kind[1], said: before && merge[kind[1]] ? merge[kind[1]](before, said) : said, at: Date.now() }, at);
}

// The server sends events of these kinds completely at first, and later only changes.
const merge = {
  history: (before, now) => ({ ...now, ids: [...before.ids, ...now.ids].slice(-STEPS),
    refused: [...before.refused, ...now.refused].slice(-STEPS) }),
  workers: (before, now) => ({ ...before, ...now }),
};

function tell(stream, message, at) {
  stream.said.set(at, message);
  for (const port of stream.ports) port.postMessage(message);
}

if ('SharedWorkerGlobalScope' in globalThis) globalThis.onconnect = ({ ports: [port] }) => join(port);
