// chart.js -- draws rates over the last hour as SVG: plot() with axes and a cursor, spark() as a small line.
import { el, fill, plain, rate } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg', WIDTH = 360, HEIGHT = 100, SHORTEST = 6, TIMES = 4;

function shape(name, attributes) {
  const at = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) at.setAttribute(key, value);
  return at;
}

// Returns an SVG path through the numbers, with gaps for null.  An area is closed at the bottom.
function path(row, top, isArea) {
  const x = i => ((i * WIDTH) / (row.length - 1)).toFixed(1), y = n => (HEIGHT - (n / top) * HEIGHT).toFixed(1);
  let d = '';
  row.forEach((n, i) => {
    if (n === null) return;
    const begins = i === 0 || row[i - 1] === null, ends = i + 1 === row.length || row[i + 1] === null;
    if (begins) d += isArea ? `M${x(i)},${HEIGHT}L${x(i)},${y(n)}` : `M${x(i)},${y(n)}`;
    else d += `L${x(i)},${y(n)}`;
    if (isArea && ends) d += `L${x(i)},${HEIGHT}Z`;
  });
  return d;
}

function drawing(row, top, attributes) {
  const svg = shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', ...attributes });
  svg.append(shape('path', { class: 'area', d: path(row, top, true) }), shape('path', { class: 'edge', d: path(row, top, false) }));
  return svg;
}

// Omits the time before the first known number, but returns at least a minute.
function sinceStart(hour) {
  const first = hour.findIndex(n => n !== null);
  return hour.slice(first < 0 ? -SHORTEST : Math.min(first, hour.length - SHORTEST));
}

const mostOf = row => Math.max(0, ...row.filter(n => n !== null));

// Returns the smallest of 1, 1.5, 2, ... 10, 15, ... that is at least n.
function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(n, 1)));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find(factor => factor * power >= n) * power;
}

// Draws `hour`: a number or null per step, the oldest first.
export function spark(hour, label) {
  const row = sinceStart(hour), most = mostOf(row);
  return el('div', { class: 'spark' }, drawing(row, most || 1, { role: 'img', 'aria-label': plain(`${label}: at most ${rate(most)} per second`) }),
    el('small', { class: 'dim' }, `last hour: at most ${rate(most)} per second`));
}

const clock = (ms, parts) => new Date(ms).toISOString().slice(11, parts);

// Adds a plot to a figure.  Pointer and arrow keys move the cursor, which shows the value and time of a step.
// Returns a function that draws the plot.  Its arguments are the numbers, their end time and the length of a step.
export function plot(figure, { label, unit, kind = '' }) {
  let row = [], untilMs = 0, stepMs = 0, at = -1;
  const tip = el('output', { class: 'tip' }), line = el('div', { class: 'cursor' }), space = el('div', { class: 'space' });
  const box = el('div', { class: `plot ${kind}`, tabindex: '0', role: 'slider', 'aria-label': `${label} in the last hour`, 'aria-valuemin': '0', 'aria-valuenow': '0', 'aria-valuetext': 'no data yet' }, space, line, tip);
  const times = el('div', { class: 'times', 'aria-hidden': 'true' });
  figure.append(box, times);

  const timeOf = i => untilMs - (row.length - 1 - i) * stepMs;
  const textOf = i => `${clock(timeOf(i), 19)} UTC: ${row[i] === null ? 'no data' : `${rate(row[i])} ${unit}`}`;

  function point(i) {
    at = i;
    line.hidden = tip.hidden = i < 0;
    const shown = i < 0 ? row.length - 1 : i, part = shown / (row.length - 1);
    box.setAttribute('aria-valuemax', row.length - 1);
    box.setAttribute('aria-valuenow', shown);
    box.setAttribute('aria-valuetext', textOf(shown));
    if (i < 0) return;
    fill(tip, textOf(i));
    line.style.left = `${100 * part}%`;
    tip.style.left = part < 0.5 ? `${100 * part}%` : '';
    tip.style.right = part < 0.5 ? '' : `${100 - 100 * part}%`;
  }

  box.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = box.getBoundingClientRect();
    point(Math.max(0, Math.min(row.length - 1, Math.round(((clientX - left) / width) * (row.length - 1)))));
  });
  box.addEventListener('pointerleave', () => point(-1));
  box.addEventListener('blur', () => point(-1));
  box.addEventListener('keydown', event => {
    const from = at < 0 ? row.length - 1 : at;
    const to = { ArrowLeft: from - 1, ArrowDown: from - 1, ArrowRight: from + 1, ArrowUp: from + 1, Home: 0, End: row.length - 1, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(to < 0 && event.key !== 'Escape' ? 0 : Math.min(to, row.length - 1));
  });

  return (hour, endMs, step) => {
    const fromEnd = at < 0 ? -1 : row.length - at;
    [row, untilMs, stepMs] = [sinceStart(hour), endMs, step];
    const top = roundUp(mostOf(row));
    space.replaceChildren(drawing(row, top, { 'aria-hidden': 'true' }),
      ...[1, 0.5, 0].map(part => el('div', { class: 'level' }, el('span', {}, part === 0 ? '0' : `${rate(top * part)} ${unit}`))));
    times.replaceChildren(...Array.from({ length: TIMES }, (_, i) => el('span', {},
      clock(timeOf(((row.length - 1) * i) / (TIMES - 1)), row.length * stepMs < 600000 ? 19 : 16) + (i === TIMES - 1 ? ' UTC' : ''))));
    point(fromEnd < 0 ? -1 : Math.max(0, row.length - fromEnd));
  };
}
