// dom.js -- creates elements whose text is never parsed as markup, and formats numbers and times.

const LONG = 1000, TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// Makes untrusted text safe to show: shortens long text, and escapes characters that change the writing direction.
export function plain(text) {
  const seen = text.length > LONG ? `${text.slice(0, LONG)}\u2026 (${grouped(text.length)} characters)` : text;
  return seen.replace(TURNS, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

export function el(name, attributes, ...children) {
  const at = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== '') at.setAttribute(key, key === 'aria-label' ? plain(value) : value);
  at.append(...children.map(child => (typeof child === 'string' ? plain(child) : child)));
  return at;
}

// Replaces the content of an element only if it differs, because screen readers announce each change of a live region.
export function fill(at, content) {
  if (typeof content !== 'string') at.replaceChildren(content);
  else if (at.textContent !== plain(content)) at.textContent = plain(content);
}

// Fills a table.  A title that begins with # marks a column of numbers.  An existing caption is preserved.
export function table(at, titles, rows) {
  const head = el('thead', {}, el('tr', {}, ...titles.map(title =>
    el('th', { scope: 'col', class: title[0] === '#' ? 'n' : '' }, title.replace('#', '')))));
  at.replaceChildren(...(at.caption ? [at.caption] : []), ...(rows.length ? [head, el('tbody', {}, ...rows)] : []));
}

// Shows names and values.  If the names are unchanged, only writes changed values, to preserve a selection.
export function facts(list, rows) {
  const names = [...list.querySelectorAll('dt')].map(dt => dt.textContent);
  if (names.join('\n') !== rows.map(([name]) => name).join('\n'))
    list.replaceChildren(...rows.flatMap(([name]) => [el('dt', {}, name), el('dd', {})]));
  list.querySelectorAll('dd').forEach((dd, i) => {
    fill(dd, rows[i][1]);
    dd.className = rows[i][2] || '';
  });
}

export function grouped(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function rate(n) {
  return n < 10 && n > 0 ? n.toFixed(1) : grouped(Math.round(n));
}

// Formats a duration with non-breaking spaces: "2 min 58 s".
export function span(ms) {
  const s = Math.floor(Math.abs(ms) / 1000), two = n => String(n).padStart(2, '0');
  if (s >= 2 * 31557600) return grouped(Math.floor(s / 31557600)) + '\u00a0years';
  if (s >= 2 * 86400) return grouped(Math.floor(s / 86400)) + '\u00a0days';
  if (s >= 3600) return `${Math.floor(s / 3600)}\u00a0h\u00a0${two(Math.floor(s / 60) % 60)}\u00a0min`;
  return s >= 60 ? `${Math.floor(s / 60)}\u00a0min\u00a0${two(s % 60)}\u00a0s` : s + '\u00a0s';
}

export function ago(ms, justMs = 1500) {
  return ms < justMs ? 'just now' : span(ms) + ' ago';
}

// Formats a time: "2026-11-26 08:49:35 UTC".  The date is omitted if it is the date of nowMs.
export function utc(ms, nowMs = 0) {
  if (!(Math.abs(ms) <= 8.64e15)) return 'at an unknown time';
  const text = new Date(ms).toISOString(), day = text.slice(0, 10);
  return `${new Date(nowMs).toISOString().startsWith(day) ? '' : day + ' '}${text.slice(11, 19)} UTC`;
}
