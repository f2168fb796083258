// page.js -- the admin's page: signs in, follows the server's events, and shows what they say.
import { chart } from './chart.js';
import { clients } from './clients.js';
import { ask, join } from './hub.js';
import { idBox } from './idbox.js';
import { el, fill, ago, grouped, rate, span } from './dom.js';

const $ = id => document.getElementById(id);
const STALE_MS = 4000;

let token = null, following = false, last = null, lastAt = 0, previous = null, box = null, trouble = '';
const workers = new Map(); // what was said of a namespace's, by its name

// ------------------------------------------------------------------ hearing

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
  history: drawHour,
  workers: said => last && showWorkers(said),
  segments: showSegments,
  clients: clients($),
  end: (_, { why }) => (why === 'token' ? login(token ? 'The server does not know this token.' : '') : staleness(why)),
};

function follow(wanted) {
  following = wanted;
  port.postMessage(wanted ? { token } : {});
}

// ------------------------------------------------------------------ what is seen

function show(status, at) {
  previous = last && status.unix_ms - last.unix_ms < 10 * STALE_MS ? last : null; // no rate of what was not looked at
  last = status;
  lastAt = at;
  trouble = '';
  if ($('board').hidden) begin();
  document.title = `vesta: ${readyOf(status)} of ${countOf(status)} ready`;
  fill($('server'), `${status.version}, pid ${status.pid}, up ${span(status.uptime_s * 1000)}`);
  tiles(status);
  for (const at of [...$('namespaces').children]) // a server that came back may have others
    if (!status.namespaces.some(ns => at.id === 'ns-' + ns.name)) at.remove();
  for (const ns of status.namespaces) card(ns);
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

// Says since when what is seen is old, and why; before anything was seen, beside the field for the token.  What is read
// aloud changes only when there is news: the age goes on beside it.
function staleness(why) {
  if (why) trouble = why;
  const old = Date.now() - lastAt > STALE_MS || trouble !== '';
  document.body.classList.toggle('old', old && last !== null);
  $('live').className = old ? 'bad' : 'good';
  fill($('live'), old ? '\u25cb not live' : '\u25cf live');
  $('stale').hidden = !old || !last;
  if (old && last) {
    fill($('stale-since'), `What stands here is of ${new Date(lastAt).toLocaleTimeString()}` +
      `${trouble ? ': ' + trouble : ', since when the server says nothing'}. The server is asked again and again.`);
    fill($('stale-age'), `That was ${ago(Date.now() - lastAt)}.`);
  } else if (old) {
    $('login').hidden = false;
    fill($('login-error'), `The server could not be asked: ${trouble}. It is asked again every two seconds.`);
  }
}

function sum(status, what) {
  return status.namespaces.reduce((n, ns) => n + what(ns), 0);
}
// Those that the server does not tell of one by one.
const others = status => status.other_namespaces || { count: 0, unready: 0, ids: 0, refused: 0 };
const countOf = status => status.namespaces.length + others(status).count;
const readyOf = status => sum(status, ns => (ns.ready ? 1 : 0)) + others(status).count - others(status).unready;
const idsOf = ns => (ns.ids ? ns.ids.http + ns.ids.resp : 0);

function perSecond(status, what) {
  const passed = previous ? (status.unix_ms - previous.unix_ms) / 1000 : 0;
  return passed > 0 ? Math.max(0, (what(status) - what(previous)) / passed) : 0;
}

function tiles(status) {
  const ready = readyOf(status), count = countOf(status);
  const rows = [
    ['Ids a second', rate(perSecond(status, s => sum(s, idsOf) + others(s).ids))],
    ['Refused a second', rate(perSecond(status, s => sum(s, ns => ns.refused) + others(s).refused))],
    ['Namespaces ready', `${ready} of ${count}`, ready < count ? 'bad' : 'good'],
    ['Requests waiting', grouped(status.waiting)],
    ['Connections', grouped(status.connections)],
    ['Clock', new Date(status.unix_ms).toISOString().slice(11, 19) + ' UTC'],
  ];
  facts($('tiles'), rows, (...pair) => [el('div', {}, ...pair)]);
}

// Names and values.  Where the names are as they were, only what has changed is written: a selected text stays selected.
function facts(list, rows, wrap = (...pair) => pair) {
  const names = [...list.querySelectorAll('dt')].map(dt => dt.textContent);
  if (names.join('\n') !== rows.map(([name]) => name).join('\n'))
    list.replaceChildren(...rows.flatMap(([name]) => wrap(el('dt', {}, name), el('dd', {}))));
  list.querySelectorAll('dd').forEach((dd, i) => {
    fill(dd, rows[i][1]);
    if (dd.className !== (rows[i][2] || '')) dd.className = rows[i][2] || '';
  });
}

// The cards stay, so that who reads one with a screen reader or has selected a text is not interrupted.
function card(ns) {
  const id = 'ns-' + ns.name;
  let at = $(id);
  if (!at) {
    at = el('article', { class: 'card', id }, el('h3', {}, el('span', {}, ns.name), el('span', { class: 'state' })),
      el('div', { class: 'spark' }), el('dl', { class: 'facts' }));
    $('namespaces').append(at);
  }
  fill(at.querySelector('.state'), ns.ready ? 'ready' : 'not ready: ' + ns.why);
  at.querySelector('.state').className = 'state ' + (ns.ready ? 'good' : 'bad');
  facts(at.querySelector('.facts'), factsOf(ns));
}

function factsOf(ns) {
  const met = Object.entries(ns.pauses || {}).filter(([, n]) => n > 0).map(([why, n]) => `${why} ${grouped(n)}`);
  const before = previous && previous.namespaces.find(other => other.name === ns.name);
  const now = before ? Math.max(0, (idsOf(ns) - idsOf(before)) * 1000 / (last.unix_ms - previous.unix_ms)) : 0;
  const lifeMs = ns.layout_end_ms - last.unix_ms, year = 365.25 * 864e5;
  return [
    !ns.ready && ['Why', ns.detail, 'bad'],
    ['Ids', `${rate(now)} a second, ${grouped(idsOf(ns))} since the start`],
    ['Refused', grouped(ns.refused), ns.refused ? 'warn' : ''],
    met.length && ['Pauses met', met.join(', ')],
    ns.holds_lease && ['Worker', `${ns.worker}, ${until(ns.lease_end_ms - last.unix_ms)}`],
    ns.keeper && ['Keeper', ns.keeper],
    ns.clock_drift_ms !== undefined && ['Clock', `${ns.clock_drift_ms} ms off uptime since it was confirmed`,
      Math.abs(ns.clock_drift_ms) > 1000 ? 'warn' : ''],
    ns.layout_end_ms && ['Layout lasts', `${span(lifeMs)} more`, lifeMs < year ? 'bad' : ''],
    ns.layout && ['Layout', ns.layout],
    ns.shadow && ['In shadow', inShadow(ns.shadow), ns.shadow.differed || ns.shadow.failed ? 'warn' : ''],
    ns.warning && ['Warning', ns.warning, 'warn'],
  ].filter(Boolean);
}

// What a policy that is not obeyed would have said.
function inShadow(s) {
  const lately = s.last_unix_ms ? `; ${ago(last.unix_ms - s.last_unix_ms)}, ${s.hook}: ${s.said}` +
    (s.done ? `, done was ${s.done}` : '') + (s.why ? ` (${s.why})` : '') : '';
  return `${s.policy}: agreed ${grouped(s.agreed)}, differed ${grouped(s.differed)}, failed ${grouped(s.failed)}${lately}`;
}

function until(ms) {
  return ms > 0 ? `leased for ${span(ms)} unless renewed` : 'its lease is over, and renewed when it is needed';
}

function policies(said) {
  $('policies-section').hidden = !said;
  if (!said) return;
  const rows = [['Generation', String(said.generation)], ['Stuck', said.stuck ? 'yes' : 'no', said.stuck ? 'bad' : '']];
  for (const [hook, results] of Object.entries(said.calls || {})) {
    const calls = Object.entries(results).map(([result, n]) => `${result} ${grouped(n)}`);
    if (calls.length) rows.push([hook, calls.join(', ')]);
  }
  if (rows.length === 2) rows.push(['Asked', 'nothing yet']);
  rows.push(['Last reload', `${new Date(said.reload_unix_ms).toLocaleString()}, ${said.reload_ok ? 'good' : 'refused'}`,
    said.reload_ok ? '' : 'bad']);
  if (said.last_error) rows.push(['Last error', `${said.last_error} (${ago(last.unix_ms - said.last_error_unix_ms)})`, 'bad']);
  facts($('policies'), rows);
}

// ------------------------------------------------------------------ the last hour

const perSecondOf = (row, stepMs) => row.map(n => (n === null ? null : n * 1000 / stepMs));

// Of a namespace, or of all together.
function drawHour({ namespace, ids, refused, step_ms }) {
  if (namespace !== undefined) {
    const spark = $('ns-' + namespace)?.querySelector('.spark');
    if (spark) fill(spark, chart(perSecondOf(ids, step_ms), { label: `Ids a second of ${namespace} in the last hour` }));
    return;
  }
  fill($('chart-ids'), chart(perSecondOf(ids, step_ms), { label: 'Ids a second in the last hour', scale: true }));
  fill($('chart-refused'), chart(perSecondOf(refused, step_ms),
    { label: 'Requests refused a second in the last hour', scale: true, kind: 'refused' }));
}

// ------------------------------------------------------------------ what others hold

// A region stays while its table changes: who is in it by the keyboard, or has scrolled it, remains there.
function regions() {
  const names = last.namespaces.map(ns => 'workers-' + ns.name), list = $('workers');
  if ([...list.children].map(at => at.id).join('\n') === names.join('\n')) return;
  list.replaceChildren(...last.namespaces.map(({ name }) => $('workers-' + name) || el('div', { class: 'scroll',
    id: 'workers-' + name, tabindex: '0', role: 'region', 'aria-label': 'Worker numbers of ' + name },
    el('table', {}, el('caption', {}, el('span', {}), el('span', { class: 'bad' }))))));
}

function showWorkers(said) {
  workers.set(said.namespace, said);
  const table = $('workers-' + said.namespace)?.querySelector('table');
  if (!table) return;
  const passed = last.unix_ms - said.read_unix_ms, n = { class: 'n' };
  const left = w => (w.end_ms === undefined ? '-' : span(Math.max(0, w.end_ms - said.store_ms - passed)));
  const clock = w => (w.clock_ms === undefined ? '' : (w.clock_ms > 0 ? '+' : '') + (w.clock_ms / 1000).toFixed(3) + ' s');
  const rows = (said.workers || []).map(w => el('tr', {}, el('td', n, w.worker),
    el('td', { class: w.state === 'held' ? 'good' : w.state === 'expired' ? 'warn' : 'dim' }, w.state),
    el('td', n, left(w)), el('td', n, clock(w)),
    el('td', { class: 'who' }, w.holder || '-', ' ', el('span', { class: 'dim' }, w.identity))));
  const head = rows.length ? [el('thead', {}, el('tr', {}, ...['Number', 'State', 'Left', 'Clock off store', 'Holder, identity']
    .map((title, i) => el('th', { scope: 'col', class: [0, 2, 3].includes(i) ? 'n' : '' }, title))))] : [];
  table.replaceChildren(table.caption, ...head, ...(rows.length ? [el('tbody', {}, ...rows)] : []));
  captions();
}

function captions() {
  for (const { name } of last.namespaces) {
    const said = workers.get(name), [what, trouble] = $('workers-' + name).querySelectorAll('caption span');
    const of = said?.held === undefined ? 'not read yet' :
      `${grouped(said.held)} held, ${grouped(said.expired)} expired, ${grouped(said.free)} free` +
      (said.more ? `; the first ${grouped(said.workers.length)} are shown` : '') +
      `, read ${ago(last.unix_ms - said.read_unix_ms, 6000)}`; // it is read every five seconds
    fill(what, `${name}${said?.leased_as ? ', leased as ' + said.leased_as : ''}: ${of}`);
    fill(trouble, said?.error ? '; ' + said.error : '');
  }
}

function showSegments(said) {
  $('segments-section').hidden = said.segments.length === 0 && !said.unread;
  const columns = ['Tag', 'Order', 'Given', 'Left here', 'Next range', 'A second', 'Pauses', 'Trouble'];
  const rows = said.segments.slice(0, 200).map(s => {
    const trouble = [s.warning, ...s.databases.map(d => d.trouble)].filter(Boolean).join('; ');
    const n = value => el('td', { class: 'n' }, value === undefined ? '-' : grouped(value));
    return el('tr', {}, el('td', {}, s.tag), el('td', {}, s.order), n(s.given), n(s.left), n(s.next_left), n(s.per_s), n(s.pauses),
      el('td', { class: 'who bad' }, trouble));
  });
  $('segments').replaceChildren(el('thead', {}, el('tr', {}, ...columns.map((title, i) =>
    el('th', { scope: 'col', class: i > 1 && i < 7 ? 'n' : '' }, title)))), el('tbody', {}, ...rows));
  const more = said.next || said.segments.length > 200 ? 'More tags are at /v1/segments. ' : '';
  fill($('segments-more'), more + (said.unread ? 'A table could not be read: ' + said.unread_why : ''));
}

// ------------------------------------------------------------------ acting

const QUESTIONS = {
  reload: ['Reload?', 'Policies and the tables of tags are read again. What is wrong is refused, and the old ones stay.', 'Reload'],
  drain: ['Drain and stop?', 'Requests in flight are answered, worker numbers are given back, and the server ends. ' +
    'It does not come back by itself unless something starts it.', 'Drain'],
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
  trouble = '';
  workers.clear();
  sessionStorage.removeItem('token');
  $('board').hidden = $('actions').hidden = true;
  for (const id of ['server', 'live', 'namespaces', 'workers', 'tiles', 'policies', 'answers', 'clients', 'connections']) $(id).replaceChildren();
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

// What is not of the form stays as it is: the server says that it does not know it.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return text;
  }
}

// A token in the link is taken out of it at once: it is not to stay in the address bar, nor in the history.
const said = /^#token=(.+)$/.exec(location.hash);
if (said) window.history.replaceState(null, '', location.pathname);
token = said ? decoded(said[1]) : sessionStorage.getItem('token');
if (said) sessionStorage.setItem('token', token);
setInterval(() => following && lastAt && staleness(), 1000);

// Only while it is seen: who has many pages open looks at few of them.
let wanted = true;
function look() {
  if (document.hidden && following) follow(false), wanted = true, document.title = 'vesta';
  else if (!document.hidden && wanted) follow(true), wanted = false;
}
document.addEventListener('visibilitychange', look);
window.addEventListener('pagehide', () => following && follow(false));
window.addEventListener('pageshow', ({ persisted }) => persisted && look());
look();
