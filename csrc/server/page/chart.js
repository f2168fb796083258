// chart.js -- a line over the last hour, as SVG.
import { ago, el, plain, rate } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg', WIDTH = 360, HEIGHT = 100, STEP_MS = 10000, SHORTEST = 6;

function shape(name, attributes) {
  const at = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) at.setAttribute(key, value);
  return at;
}

// Runs of numbers between gaps, each as a path; "" closes below for an area.
function paths(row, top, isArea) {
  const y = n => (HEIGHT - (n / top) * (HEIGHT - 4)).toFixed(1), step = WIDTH / (row.length - 1);
  let path = '', from = -1;
  row.forEach((n, i) => {
    if (n === null) {
      from = -1;
      return;
    }
    if (from < 0) {
      from = i;
      path += isArea ? `M${(i * step).toFixed(1)},${HEIGHT}L${(i * step).toFixed(1)},${y(n)}` : `M${(i * step).toFixed(1)},${y(n)}`;
    } else path += `L${(i * step).toFixed(1)},${y(n)}`;
    if (isArea && (i + 1 === row.length || row[i + 1] === null)) path += `L${(i * step).toFixed(1)},${HEIGHT}Z`;
  });
  return path;
}

// Shape: a number or null each ten seconds, the oldest first.  What is behind the first that is known is not shown, but for
// a minute: a server that has just begun has its picture, too.
export function chart(hour, { label: of, scale = false, kind = '' }) {
  const first = hour.findIndex(n => n !== null), row = hour.slice(first < 0 ? 0 : Math.min(first, hour.length - SHORTEST));
  const label = plain(of), known = row.filter(n => n !== null), most = Math.max(0, ...known), top = most || 1;
  const svg = shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', class: kind,
    'aria-label': known.length ? `${label}: now ${rate(known[known.length - 1])}, at most ${rate(most)}` : `${label}: nothing yet` });
  svg.append(shape('path', { class: 'area', d: paths(row, top, true) }), shape('path', { class: 'edge', d: paths(row, top, false) }));
  if (!scale) return svg;
  const words = known.length ? [row.length < hour.length ? ago(row.length * STEP_MS) : 'an hour ago', `at most ${rate(most)}`, 'now'] : ['', 'no ten seconds are over yet', ''];
  return el('div', {}, svg, el('div', { class: 'scale' }, ...words.map(word => el('span', {}, word))));
}
