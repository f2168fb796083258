// dom.js -- elements with text that is never markup, and numbers as people read them.

const LONG = 1000, TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// Texts are others': one is shown up to a length, and what would turn the writing round is seen as what it is.
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

// Replaces what is in an element, where it differs: a live region is read aloud when it changes.
export function fill(at, content) {
  if (typeof content !== 'string') at.replaceChildren(content);
  else if (at.textContent !== plain(content)) at.textContent = plain(content);
}

export function grouped(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function rate(n) {
  return n < 10 && n > 0 ? n.toFixed(1) : grouped(Math.round(n));
}

export function span(ms) {
  const s = Math.floor(Math.abs(ms) / 1000), two = n => String(n).padStart(2, '0');
  if (s >= 2 * 31557600) return grouped(Math.floor(s / 31557600)) + ' years';
  if (s >= 2 * 86400) return grouped(Math.floor(s / 86400)) + ' days';
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
  return s >= 60 ? `${Math.floor(s / 60)} min ${two(s % 60)} s` : s + ' s';
}

export function ago(ms, justMs = 1500) {
  return ms < justMs ? 'just now' : span(ms) + ' ago';
}
