// clients.js -- who takes the ids: clients with their part of what was given lately, and the connections that took most.
import { el, fill, grouped, rate, span } from './dom.js';

const CLIENTS = ['Client', 'Connections', 'Ids a second', 'Part', 'Agreed', 'Ids', 'Requests', 'Refused', 'Last seen at'];
const CONNECTIONS = ['Connection', 'Client', 'From', 'By', 'Ids', 'Requests', 'Refused', 'Last asked'];
const REASONS = { request: 'wrong', rights: 'not allowed', rate: 'too often', pause: 'no id' };

const number = value => el('td', { class: 'n' }, value);

function head(titles, numbers) {
  return el('thead', {}, el('tr', {}, ...titles.map((title, i) =>
    el('th', { scope: 'col', class: numbers.includes(i) ? 'n' : '' }, title))));
}

function refused(of) {
  const met = Object.entries(of).filter(([, n]) => n > 0).map(([why, n]) => `${REASONS[why] || why} ${grouped(n)}`);
  return el('td', { class: met.length ? 'warn' : 'dim' }, met.join(', ') || 'none');
}

// What its line in the file of clients says, and how often it had to wait for that.
function agreed({ share }) {
  if (!share) return el('td', { class: 'dim' }, '-');
  const said = [[share.rate, `${grouped(share.rate)} ids a second`], [share.requests, `${grouped(share.requests)} requests a second`],
    [share.weight !== 1, `weight ${grouped(share.weight)}`], [share.held, `waited: ${grouped(share.held)}`]];
  return el('td', { class: share.held ? '' : 'dim' }, said.filter(([is]) => is).map(([, text]) => text).join(', ') || 'an even part');
}

function row(client, perSecond, all) {
  const part = perSecond === null ? '-' : all > 0 ? `${Math.round(100 * perSecond / all)} %` : '0 %';
  return el('tr', {}, el('td', {}, client.name), number(grouped(client.connections)),
    number(perSecond === null ? '-' : rate(perSecond)), number(part), agreed(client),
    number(grouped(client.ids)), number(grouped(client.requests)), refused(client.refused), el('td', {}, client.last_address || '-'));
}

function connection(c) {
  return el('tr', {}, number(String(c.id)), el('td', {}, c.client), el('td', {}, c.address), el('td', {}, c.proto),
    number(grouped(c.ids)), number(grouped(c.requests)), number(grouped(c.refused)),
    el('td', {}, c.last || '-', ' ', el('span', { class: 'dim' }, `${span(c.idle_ms)} ago${c.name ? ', ' + c.name : ''}`)));
}

// What each was given since the event before, a second; null where there was none.
function lately(now, before) {
  const known = new Map((before?.said.clients || []).map(c => [c.name, c.ids])), s = before ? (now.at - before.at) / 1000 : 0;
  return now.said.clients.map(c => (s > 0 && known.has(c.name) ? Math.max(0, c.ids - known.get(c.name)) / s : null));
}

export function clients($) {
  let before = null;
  return (said, { at }) => {
    const now = { said, at }, rates = lately(now, before), all = rates.reduce((sum, n) => sum + (n || 0), 0);
    before = now;
    $('clients').replaceChildren(head(CLIENTS, [1, 2, 3, 5, 6]),
      el('tbody', {}, ...said.clients.map((client, i) => row(client, rates[i], all))));
    const most = (said.connections || []).filter(c => c.proto !== 'admin');
    $('connections').replaceChildren(head(CONNECTIONS, [0, 4, 5, 6]), el('tbody', {}, ...most.map(connection)));
    $('connections-region').hidden = most.length === 0;
    fill($('clients-more'), most.length ? 'Connections: those that took most ids. All are at /admin/clients.' : '');
  };
}
