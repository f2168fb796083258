// page.js -- the admin page: signs in, receives the server's events, and shows its state.
import { plot, spark } from './chart.js';
import { clients } from './clients.js';
import { ask, join } from './hub.js';
import { idBox } from './idbox.js';
import { el, facts, fill, ago, grouped, rate, span, table, utc } from './dom.js';

const $ = id => document.getElementById(id);
const STALE_MS = 4000, LATENCY_MS = 10000, DRIFT_MS_MAX = 1000, SHORT_MS = 10000, YEAR_MS = 365.25 * 864e5;

let token = null, following = false, last = null, lastAt = 0, previous = null, box = null, trouble = '';
let lately = []; // states received in the last LATENCY_MS, the oldest first
const workers = new Map(); // newest list of worker ids, by namespace

// ------------------------------------------------------------------ events of the server

function hub() {
  if (window.SharedWorker) return new SharedWorker('/page/hub.js', { type: 'module' }).port;
  const { port1, port2 } = new MessageChannel();
  join(port2);
  return port1;
}

const port = hub();
port.onmessage = ({ data }) => following && HEARD[data.kind](data.said, data);

const HEARD = {
  status: (said, { at }) => show(said, at),
  history: showHour,
  workers: said => last && showWorkers(said),
  segments: showSegments,
  clients: clients($),
  end: (_, { why }) => (why === 'token' ? login(token ? 'The server rejected this token.' : '') : staleness(why)),
};

function follow(wanted) {
  following = wanted;
  port.postMessage(wanted ? { token } : {});
}

// ------------------------------------------------------------------ the state

function show(status, at) {
  const isNext = last && last.pid === status.pid && status.unix_ms > last.unix_ms && status.unix_ms - last.unix_ms < 10 * STALE_MS;
  previous = isNext ? last : null; // rates need two states of one process
  lately = [...(isNext ? lately : []), status].filter(one => status.unix_ms - one.unix_ms <= LATENCY_MS);
  last = status;
  lastAt = at;
  trouble = '';
  if ($('board').hidden) begin();
  names(status);
  tiles(status);
  cards(inOrder(status.namespaces));
  recent(status.recent || []);
  regions();
  captions();
  policies(status.policies);
  facts($('answers'), Object.entries(status.requests).map(([code, n]) => [code, grouped(n), code === 'ok' ? '' : 'warn']));
  box.namespaces(status.namespaces);
  staleness();
}

function begin() {
  $('login').hidden = true;
  $('board').hidden = $('actions').hidden = false;
  $('namespaces').replaceChildren();
  if (!box) box = idBox($);
}

function names(status) {
  const server = status.name || status.host || location.hostname;
  document.title = `vesta on ${server}: ${readyOf(status)} of ${countOf(status)} ready`;
  fill($('title'), `vesta on ${server}`);
  fill($('server'), `${status.name && status.host ? `host ${status.host}, ` : ''}version ${status.version}, pid ${status.pid}, ` +
    `up ${span(status.uptime_s * 1000)}`);
}

// Screen readers announce stale-since on each change, so the changing age is in a separate element.
function staleness(why) {
  if (why) trouble = why;
  const old = Date.now() - lastAt > STALE_MS || trouble !== '';
  document.body.classList.toggle('old', old && last !== null);
  $('live').className = old ? 'bad' : 'good';
  fill($('live'), old ? '\u25cb not live' : '\u25cf live');
  $('stale').hidden = !old || !last;
  if (old && last) {
    fill($('stale-since'), `This page shows the state of ${utc(lastAt, Date.now())}: ${trouble || 'the server has sent nothing since then'}. ` +
      'Reconnecting.');
    fill($('stale-age'), `It is ${span(Date.now() - lastAt)} old.`);
  } else if (old) {
    $('login').hidden = false;
    fill($('login-error'), `The server cannot be reached: ${trouble}. The page retries every 2 seconds.`);
  }
}

const sum = (status, count) => status.namespaces.reduce((n, ns) => n + count(ns), 0);
// Returns the sums of the namespaces that the server does not list.
const others = status => status.other_namespaces || { count: 0, unready: 0, ids: 0, refused: 0 };
const countOf = status => status.namespaces.length + others(status).count;
const readyOf = status => sum(status, ns => (ns.ready ? 1 : 0)) + others(status).count - others(status).unready;
const idsOf = ns => (ns.ids ? ns.ids.http + ns.ids.resp : 0);

function perSecond(status, count) {
  return previous ? Math.max(0, ((count(status) - count(previous)) * 1000) / (status.unix_ms - previous.unix_ms)) : 0;
}

// "0.4 % used"
function used(now, capacity) {
  const percent = capacity ? (100 * now) / capacity : 0;
  return `${percent > 0 && percent < 0.1 ? '<\u00a00.1' : percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)}\u00a0%\u00a0used`;
}

function tiles(status) {
  const ready = readyOf(status), count = countOf(status), ids = perSecond(status, s => sum(s, idsOf) + others(s).ids);
  const now = new Date(status.unix_ms).toISOString(), capacity = sum(status, ns => ns.capacity_s || 0);
  const rows = [
    ['Ids per second', rate(ids), `capacity ${grouped(capacity)}, ${used(ids, capacity)}`],
    ['Latency of 99 %', ...latency()],
    ['Rejected per second', rate(perSecond(status, s => sum(s, ns => ns.refused) + others(s).refused)), 'requests without an id'],
    ['Namespaces ready', `${ready} of ${count}`, ready < count ? `${count - ready} without ids` : 'all issue ids', ready < count ? 'bad' : 'good'],
    ['Requests waiting', grouped(status.waiting), 'for an id'],
    ['Connections', grouped(status.connections), 'open'],
    ['Server time', now.slice(11, 19), `UTC, ${now.slice(0, 10)}`],
  ];
  if ($('tiles').children.length !== rows.length)
    $('tiles').replaceChildren(...rows.map(([name]) => el('div', {}, el('dt', {}, name), el('dd', {}), el('dd', { class: 'dim' }))));
  rows.forEach(([, value, more, kind], i) => {
    const [, at, below] = $('tiles').children[i].children;
    fill(at, value);
    at.className = kind || '';
    fill(below, more);
  });
}

// Returns percentiles: the upper bounds of the buckets in the histogram of request durations.
function latency() {
  const now = last.durations, before = lately[0].durations;
  if (!now || !before) return ['-', 'not reported by this server'];
  const counts = now.http.map((n, i) => n - before.http[i] + now.resp[i] - before.resp[i]);
  const all = counts.reduce((n, more) => n + more, 0);
  if (all <= 0) return ['-', `no request in the last ${LATENCY_MS / 1000} s`];
  const within = part => {
    let left = Math.ceil(part * all), i = 0;
    while (left > counts[i]) left -= counts[i++];
    return i < now.le_us.length ? `\u2264\u00a0${duration(now.le_us[i])}` : `>\u00a0${duration(now.le_us.at(-1))}`;
  };
  return [within(0.99), `half ${within(0.5)}, last\u00a0${LATENCY_MS / 1000}\u00a0s`];
}

const duration = us => (us < 1000 ? `${us}\u00a0\u00b5s` : us < 1e6 ? `${us / 1000}\u00a0ms` : `${us / 1e6}\u00a0s`);

// ------------------------------------------------------------------ namespaces

const isOff = ns => Math.abs(ns.clock_drift_ms || 0) > DRIFT_MS_MAX;

// Sorts namespaces without ids first, and namespaces with a warning next.
function inOrder(list) {
  const rank = ns => (!ns.ready ? 0 : ns.keeper || ns.warning || isOff(ns) ? 1 : 2);
  return [...list].sort((a, b) => rank(a) - rank(b));
}

// Moves existing cards instead of replacing them, so that a screen reader is not interrupted.
function cards(list) {
  for (const at of [...$('namespaces').children])
    if (!list.some(ns => at.id === 'ns-' + ns.name)) at.remove();
  const sorted = list.map(card);
  if (sorted.some((at, i) => $('namespaces').children[i] !== at)) $('namespaces').append(...sorted);
  const broken = list.filter(ns => !ns.ready);
  $('broken').hidden = broken.length === 0;
  fill($('broken'), broken.length ? `No ids: ${broken.slice(0, 5).map(ns => ns.name).join(', ')}` +
    `${broken.length > 5 ? ` and ${broken.length - 5} more` : ''}. The reason is in the first card${broken.length > 1 ? 's' : ''} below.` : '');
}

function card(ns) {
  const at = $('ns-' + ns.name) || el('article', { class: 'card', id: 'ns-' + ns.name },
    el('h3', {}, el('span', {}, ns.name), el('span', { class: 'state' })), el('div', { class: 'line' }), el('dl', { class: 'facts' }));
  const state = at.querySelector('.state');
  fill(state, ns.ready ? 'ready' : 'no ids: ' + ns.why);
  state.className = 'state ' + (ns.ready ? 'good' : 'bad');
  at.classList.toggle('broken', !ns.ready);
  facts(at.querySelector('.facts'), factsOf(ns));
  return at;
}

const PAUSES = { full: 'sequence exhausted', clock_back: 'clock went back', clock_ahead: 'clock jumped forward', ahead: 'ids ahead of the clock',
  lease: 'no lease', choose: 'policy chooses', epoch_end: 'layout ended', closed: 'file closed', failstop: 'store lost data' };

function factsOf(ns) {
  const pauses = Object.entries(ns.pauses || {}).filter(([, n]) => n > 0).map(([why, n]) => `${PAUSES[why] || why} ${grouped(n)}`);
  const before = previous && previous.namespaces.find(other => other.name === ns.name);
  const now = before ? Math.max(0, ((idsOf(ns) - idsOf(before)) * 1000) / (last.unix_ms - previous.unix_ms)) : 0;
  const lifeMs = ns.layout_end_ms - last.unix_ms;
  return [
    !ns.ready && ['Reason', ns.detail, 'bad'],
    ['Ids per second', rate(now)],
    ns.capacity_s && ['Capacity', `${grouped(ns.capacity_s)} per second, ${used(now, ns.capacity_s)}`],
    ['Ids', `${grouped(idsOf(ns))} since the start`],
    ['Rejected', `${grouped(ns.refused)} requests`, ns.refused ? 'warn' : ''],
    pauses.length && ['Pauses', pauses.join(', ')],
    ns.holds_lease && ['Worker id', `${ns.worker}, ${ns.worker_assigned ? 'assigned in the config' : 'leased'}`],
    ns.holds_lease && ['Lease', leaseOf(ns), ns.keeper ? 'warn' : ''],
    ns.keeper && !(ns.detail || '').includes(ns.keeper) && ['Not renewed', ns.keeper, 'warn'],
    ns.clock_drift_ms !== undefined && ['Clock', isOff(ns) ? `${grouped(Math.abs(ns.clock_drift_ms))} ms ` +
      `${ns.clock_drift_ms > 0 ? 'ahead of' : 'behind'} the uptime` : 'steady', isOff(ns) ? 'warn' : ''],
    ns.layout_end_ms && ['Layout ends', lifeMs > 0 ? `in ${span(lifeMs)}` : 'now', lifeMs < YEAR_MS ? 'bad' : ''],
    ns.layout && ['Layout', ns.layout],
    ns.shadow && ['Shadow policy', shadowOf(ns.shadow), ns.shadow.differed || ns.shadow.failed ? 'warn' : ''],
    ns.warning && ['Warning', ns.warning, 'warn'],
  ].filter(Boolean);
}

// Shows no countdown for a short lease that is renewed all the time, because it would look like an emergency.
function leaseOf(ns) {
  const leftMs = ns.lease_end_ms - last.unix_ms, isSteady = !ns.keeper;
  if (leftMs <= 0) return isSteady ? 'renewed with the next request' : 'expired';
  if (isSteady && leftMs < SHORT_MS)
    return `ids continue without the store for a few seconds${ns.worker_assigned ? ', because the worker id is assigned' : ''}`;
  return `ids continue without the store for ${span(leftMs)}`;
}

function shadowOf(s) {
  const newest = s.last_unix_ms ? `. Last: ${s.hook} returned ${s.said}` + (s.done ? `, in force was ${s.done}` : '') +
    `${s.why ? ` (${s.why})` : ''}, ${ago(last.unix_ms - s.last_unix_ms)}` : '';
  return `${s.policy}: agreed ${grouped(s.agreed)}, differed ${grouped(s.differed)}, failed ${grouped(s.failed)}${newest}`;
}

// ------------------------------------------------------------------ events, policies

const LEVELS = { error: ['bad', 'problem'], warn: ['warn', 'warning'] };
let newest = '';

function recent(list) {
  const now = list.length ? `${last.pid} ${list[0].number}` : '';
  if (now === newest && $('recent').childElementCount) return;
  newest = now;
  $('recent').replaceChildren(...list.map(event => {
    const [kind, word] = LEVELS[event.level] || ['', ''];
    return el('li', { class: kind }, el('time', { datetime: new Date(event.unix_ms).toISOString() }, utc(event.unix_ms, last.unix_ms)), ' ',
      el('span', {}, ...(word ? [el('span', { class: 'heard' }, word + ': ')] : []), (event.namespace ? event.namespace + ': ' : '') + event.text));
  }), ...(list.length ? [] : [el('li', { class: 'dim' }, 'No events since the start.')]));
}

function policies(said) {
  $('policies-section').hidden = !said;
  if (!said) return;
  const rows = [['Generation', String(said.generation)], ['Stuck', said.stuck ? 'yes' : 'no', said.stuck ? 'bad' : '']];
  for (const [hook, results] of Object.entries(said.calls || {})) {
    const calls = Object.entries(results).map(([result, n]) => `${result} ${grouped(n)}`);
    if (calls.length) rows.push([hook, calls.join(', ')]);
  }
  if (rows.length === 2) rows.push(['Calls', 'none yet']);
  rows.push(['Last reload', `${said.reload_ok ? 'succeeded' : 'failed. The last successful reload was'} ${utc(said.reload_unix_ms)}`,
    said.reload_ok ? '' : 'bad']);
  if (said.last_error) rows.push(['Last error', `${said.last_error} (${ago(last.unix_ms - said.last_error_unix_ms)})`, 'bad']);
  facts($('policies'), rows);
}

// ------------------------------------------------------------------ the last hour

const drawIds = plot($('chart-ids'), { label: 'Ids per second', unit: 'ids/s' });
const drawRejected = plot($('chart-refused'), { label: 'Rejected requests per second', unit: 'requests/s', kind: 'refused' });

function showHour({ namespace, ids, refused, step_ms, until_unix_ms }) {
  const perSecondOf = row => row.map(n => (n === null ? null : (n * 1000) / step_ms));
  if (namespace === undefined) {
    drawIds(perSecondOf(ids), until_unix_ms, step_ms);
    drawRejected(perSecondOf(refused), until_unix_ms, step_ms);
    return;
  }
  const at = $('ns-' + namespace)?.querySelector('.line');
  if (at) fill(at, spark(perSecondOf(ids), `Ids of ${namespace} in the last hour`));
}

// ------------------------------------------------------------------ worker ids and tags

// Preserves the regions while their tables change, so that they keep the focus and scroll position.
function regions() {
  const list = $('workers'), sorted = inOrder(last.namespaces).map(({ name }) => $('workers-' + name) || el('div', { class: 'scroll',
    id: 'workers-' + name, tabindex: '0', role: 'region', 'aria-label': 'Worker ids of ' + name },
    el('table', {}, el('caption', {}, el('span', {}), el('span', { class: 'bad' })))));
  if (list.children.length !== sorted.length || sorted.some((at, i) => list.children[i] !== at)) list.replaceChildren(...sorted);
}

function showWorkers(said) {
  workers.set(said.namespace, said);
  const at = $('workers-' + said.namespace)?.querySelector('table');
  if (!at) return;
  const since = ms => (ms ? ago(Math.max(0, said.store_ms - ms) + last.unix_ms - said.read_unix_ms) : '-');
  const clock = w => (w.clock_ms === undefined ? '' : (w.clock_ms > 0 ? '+' : '') + (w.clock_ms / 1000).toFixed(3) + ' s');
  table(at, ['#Worker id', 'State', 'Last renewed', '#Clock vs store', 'Holder, identity'], (said.workers || []).map(w => el('tr', {},
    el('td', { class: 'n' }, w.worker), el('td', { class: w.state === 'held' ? 'good' : 'dim' }, w.state),
    el('td', {}, since(w.written_ms)), el('td', { class: 'n' }, clock(w)),
    el('td', { class: 'who' }, w.holder || '-', ' ', el('span', { class: 'dim' }, w.identity)))));
  captions();
}

function captions() {
  for (const { name } of last.namespaces) {
    const said = workers.get(name), [text, fault] = $('workers-' + name).querySelectorAll('caption span');
    const counts = said?.held === undefined ? 'not read yet' :
      `${grouped(said.held)} held, ${grouped(said.expired)} expired, ${grouped(said.free)} free` +
      (said.more ? `. The first ${grouped(said.workers.length)} are shown` : '') +
      `. Read ${ago(last.unix_ms - said.read_unix_ms, 6000)}`; // the server reads the store every 5 seconds
    fill(text, `${name}${said?.leased_as ? ', leased as ' + said.leased_as : ''}: ${counts}`);
    fill(fault, said?.error ? 'Problem: ' + said.error : '');
  }
}

function showSegments(said) {
  $('segments-section').hidden = said.segments.length === 0 && !said.unread;
  table($('segments'), ['Tag', 'Order', '#Issued', '#Left in range', '#Next range', '#Per second', '#Pauses', 'Problem'],
    said.segments.slice(0, 200).map(s => {
      const problem = [s.warning, ...s.databases.map(d => d.trouble)].filter(Boolean).join('; ');
      const n = value => el('td', { class: 'n' }, value === undefined ? '-' : grouped(value));
      return el('tr', {}, el('td', {}, s.tag), el('td', {}, s.order), n(s.given), n(s.left), n(s.next_left), n(s.per_s), n(s.pauses),
        el('td', { class: 'who bad' }, problem));
    }));
  const more = said.next || said.segments.length > 200 ? '/v1/segments lists all tags. ' : '';
  fill($('segments-more'), more + (said.unread ? 'A table could not be read: ' + said.unread_why : ''));
}

// ------------------------------------------------------------------ actions

const QUESTIONS = {
  reload: ['Reload?', 'The server reloads its policies and tables of tags. If it finds an error, the old versions stay in use.', 'Reload'],
  drain: ['Drain and stop?', 'The server finishes requests in flight, releases its worker ids, and stops. ' +
    'It starts again only if a service manager restarts it.', 'Drain'],
};

function question(action) {
  const [title, text, yes] = QUESTIONS[action];
  fill($('ask-title'), title);
  fill($('ask-text'), text);
  fill($('ask-yes'), yes);
  $('ask').returnValue = 'no';
  $('ask').onclose = async () => {
    if ($('ask').returnValue !== 'yes') return;
    const reply = await ask('/admin/' + action, token, { method: 'POST' });
    const said = await reply.json();
    fill($('live'), reply.ok ? said.status : said.detail);
  };
  $('ask').showModal();
}

function login(why) {
  follow(false);
  token = last = previous = null;
  trouble = newest = '';
  lately = [];
  workers.clear();
  sessionStorage.removeItem('token');
  document.title = 'vesta';
  fill($('title'), 'vesta');
  $('board').hidden = $('actions').hidden = true;
  for (const id of ['server', 'live', 'broken', 'namespaces', 'workers', 'tiles', 'recent', 'policies', 'answers', 'clients', 'connections'])
    $(id).replaceChildren();
  $('login').hidden = false;
  fill($('login-error'), why || '');
  $('token').focus();
}

$('login').addEventListener('submit', event => {
  event.preventDefault();
  token = $('token').value;
  $('token').value = '';
  sessionStorage.setItem('token', token);
  follow(true);
});
$('actions').addEventListener('click', event => {
  if (event.target.dataset.action) question(event.target.dataset.action);
});
$('forget').addEventListener('click', () => login(''));

// Returns text that is not valid URL encoding unchanged.  The server then rejects the token.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return text;
  }
}

// Removes the token from the address at once, so that it does not stay in the browser history.
const link = /^#token=(.+)$/.exec(location.hash);
if (link) window.history.replaceState(null, '', location.pathname);
token = link ? decoded(link[1]) : sessionStorage.getItem('token');
if (link) sessionStorage.setItem('token', token);
setInterval(() => following && lastAt && staleness(), 1000);

// Follows the server only while the page is visible.
let wanted = true;
function look() {
  if (document.hidden && following) follow(false), wanted = true, document.title = 'vesta';
  else if (!document.hidden && wanted) follow(true), wanted = false;
}
document.addEventListener('visibilitychange', look);
window.addEventListener('pagehide', () => following && follow(false));
window.addEventListener('pageshow', ({ persisted }) => persisted && look());
look();
