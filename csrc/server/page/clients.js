// clients.js -- shows the clients with their share of recently issued ids, and the connections with the most ids.
import { el, fill, grouped, rate, span, table } from './dom.js';

const CLIENTS = ['Client', '#Connections', '#Ids per second', '#Share', 'Limits', '#Ids', '#Requests', 'Rejected requests', 'Last address'];
const CONNECTIONS = ['#Connection', 'Client', 'Address', 'Protocol', '#Ids', '#Requests', '#Rejected', 'Last request'];
const REASONS = { request: 'invalid', rights: 'not allowed', rate: 'over a limit', pause: 'no id' };

function rejected(counts) {
  const some = Object.entries(counts).filter(([, n]) => n > 0).map(([why, n]) => `${REASONS[why] || why} ${grouped(n)}`);
  return el('td', { class: some.length ? 'warn' : 'dim' }, some.join(', ') || 'none');
}

// Shows the client's limits, and how many of its requests waited because of these limits.
function limits({ share }) {
  if (!share) return el('td', { class: 'dim' }, '-');
  const parts = [[share.rate, `${grouped(share.rate)} ids/s`], [share.requests, `${grouped(share.requests)} requests/s`],
    [share.weight !== 1, `weight ${grouped(share.weight)}`], [share.held, `${grouped(share.held)} waited`]];
  return el('td', { class: share.held ? '' : 'dim' }, parts.filter(([has]) => has).map(([, text]) => text).join(', ') || 'fair share');
}

const number = value => el('td', { class: 'n' }, value);

function row(client, perSecond, all) {
  const part = perSecond === null ? '-' : all > 0 ? `${Math.round(100 * perSecond / all)} %` : '0 %';
  return el('tr', {}, el('td', {}, client.name), number(grouped(client.connections)),
    number(perSecond === null ? '-' : rate(perSecond)), number(part), limits(client),
    number(grouped(client.ids)), number(grouped(client.requests)), rejected(client.refused), el('td', {}, client.last_address || '-'));
}

function connection(c) {
  return el('tr', {}, number(String(c.id)), el('td', {}, c.client), el('td', {}, c.address), el('td', {}, c.proto),
    number(grouped(c.ids)), number(grouped(c.requests)), number(grouped(c.refused)),
    el('td', {}, c.last || '-', ' ', el('span', { class: 'dim' }, `${span(c.idle_ms)} ago${c.name ? ', ' + c.name : ''}`)));
}

// Returns the ids per second of each client since the last event, or null for a new client.
function rates(now, before) {
  const known = new Map((before?.said.clients || []).map(c => [c.name, c.ids])), s = before ? (now.at - before.at) / 1000 : 0;
  return now.said.clients.map(c => (s > 0 && known.has(c.name) ? Math.max(0, c.ids - known.get(c.name)) / s : null));
}

export function clients($) {
  let before = null;
  return (said, { at }) => {
    const now = { said, at }, perSecond = rates(now, before), all = perSecond.reduce((sum, n) => sum + (n || 0), 0);
    before = now;
    table($('clients'), CLIENTS, said.clients.map((client, i) => row(client, perSecond[i], all)));
    const most = (said.connections || []).filter(c => c.proto !== 'admin');
    table($('connections'), CONNECTIONS, most.map(connection));
    $('connections-region').hidden = most.length === 0;
    fill($('clients-more'), most.length ? 'These connections took the most ids. /admin/clients lists all connections.' : '');
  };
}
