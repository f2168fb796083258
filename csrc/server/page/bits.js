// bits.js -- parses a layout, and splits and makes ids with it.  Numbers are BigInt, because an id has 64 bits.

const UNITS = { us: 1n, ms: 1000n, s: 1000000n };

// Parses "version:1 type:1=0 method:2 time:30 ... unit=1s epoch=...".  Pieces are listed from the highest bits down.  A
// name that occurs twice is one field in two pieces.  Returns null if the layout cannot be parsed.
export function readLayout(text) {
  const pieces = [];
  let unit = 1000n, epoch = 0n, shift = 0n;
  for (const word of (text || '').split(' ')) {
    let m;
    if ((m = /^(\w+):(\d+)(?:=(\d+))?$/.exec(word)))
      pieces.push({ name: m[1], width: BigInt(m[2]), fixed: m[3] === undefined ? null : BigInt(m[3]) });
    else if ((m = /^unit=(\d+)(us|ms|s)$/.exec(word))) unit = BigInt(m[1]) * UNITS[m[2]];
    else if ((m = /^epoch=(.+)$/.exec(word))) epoch = microseconds(m[1]);
  }
  const fields = new Map();
  for (const piece of [...pieces].reverse()) {
    const field = fields.get(piece.name) || { name: piece.name, width: 0n, fixed: piece.fixed, shift };
    Object.assign(piece, { field, shift, low: field.width });
    field.width += piece.width;
    field.shift = shift;
    shift += piece.width;
    fields.set(piece.name, field);
  }
  if (!fields.has('time') || epoch === null) return null;
  return { pieces, fields: [...new Set(pieces.map(piece => piece.field))], unit, epoch };
}

// Parses an RFC 3339 time with microseconds, because Date only has milliseconds.
function microseconds(iso) {
  const m = /^(.*?T\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/.exec(iso);
  const ms = m ? Date.parse(m[1] + m[3]) : NaN;
  return Number.isNaN(ms) ? null : BigInt(ms) * 1000n + BigInt((m[2] || '').padEnd(6, '0'));
}

const mask = field => (1n << field.width) - 1n;

export const bitsOf = (piece, id) => (id >> piece.shift) & mask(piece);

// Returns each field's value, or null if the text is not a 64-bit number.
export function takeApart(layout, text) {
  if (!/^\s*(\d+|0[xX][0-9a-fA-F]+)\s*$/.test(text)) return null;
  const id = BigInt(text.trim());
  if (id >= 1n << 64n) return null;
  return layout.fields.map(field => ({ field, value: layout.pieces.filter(piece => piece.field === field)
    .reduce((value, piece) => value | bitsOf(piece, id) << piece.low, 0n) }));
}

// Makes an id from values by field name.  A missing value is 0.  A fixed field has the layout's value.
export function make(layout, values) {
  let id = 0n;
  for (const field of layout.fields) {
    const value = field.fixed !== null ? field.fixed : values[field.name] || 0n;
    if (value < 0n || value > mask(field))
      throw new RangeError(`${field.name} is ${value}, but the maximum of its ${field.width} bits is ${mask(field)}`);
    for (const piece of layout.pieces)
      if (piece.field === field) id |= (value >> piece.low & mask(piece)) << piece.shift;
  }
  return id;
}

export function timeOf(layout, ticks) {
  return isoOf(layout.epoch + ticks * layout.unit);
}

export function isoOf(us) {
  const ms = Number(us / 1000n);
  return Math.abs(ms) > 8.64e15 ? 'beyond the calendar' : new Date(ms).toISOString();
}

// Returns the first and last id of the time from fromUs to toUs (exclusive), or null if the layout has no ids of that
// time.  `above` contains the values of the fields above the time.
export function rangeOf(layout, fromUs, toUs, above = {}) {
  const time = layout.fields.find(f => f.name === 'time'), up = us => (us + layout.unit - 1n) / layout.unit;
  let first = up(fromUs - layout.epoch), last = up(toUs - layout.epoch) - 1n;
  if (last < 0n || first > mask(time)) return null;
  if (first < 0n) first = 0n;
  if (last > mask(time)) last = mask(time);
  const low = { ...above, time: first }, high = { ...above, time: last };
  for (const field of layout.fields)
    if (field.shift < time.shift) low[field.name] = 0n, high[field.name] = mask(field);
  return [make(layout, low), make(layout, high)];
}
