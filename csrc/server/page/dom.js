// dom.js -- elements with text that is never markup, and numbers as people read them.

export function el(name, attributes, ...children) {
  const at = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== '') at.setAttribute(key, value);
  at.append(...children);
  return at;
}

// Replaces what is in an element, where it differs: a live region is read aloud when it changes.
export function fill(at, content) {
  if (typeof content !== 'string') at.replaceChildren(content);
  else if (at.textContent !== content) at.textContent = content;
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
