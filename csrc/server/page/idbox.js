// idbox.js -- a form that splits an id into fields as you type, makes an id from fields, and shows the ids of a day.
import { readLayout, takeApart, bitsOf, make, timeOf, rangeOf } from './bits.js';
import { el, fill } from './dom.js';

const DAY_US = 86400000000n;

export function idBox($) {
  let layouts = new Map(), layout = null, shown = '';

  function choose() {
    layout = layouts.get($('id-namespace').value) || null;
    $('id-fields').replaceChildren(...(layout ? layout.fields.map(inputOf) : []));
    if ($('id-text').value.trim() || !layout) return take();
    const now = inputs().find(input => input.dataset.field === 'time'); // an example: an id of the current time
    now.value = String((BigInt(Date.now()) * 1000n - layout.epoch) / layout.unit);
    build();
  }

  function inputOf(field) {
    const input = el('input', { 'data-field': field.name, inputmode: 'numeric', size: String(Math.max(4, Number(field.width) / 3 | 0)) });
    if (field.fixed !== null) input.disabled = true;
    input.value = String(field.fixed ?? 0n);
    input.addEventListener('input', build);
    return el('label', {}, `${field.name}, ${field.width} bit${field.width === 1n ? '' : 's'}`, input);
  }

  const inputs = () => [...$('id-fields').querySelectorAll('input')];

  function take() {
    const text = $('id-text').value.trim();
    const parts = layout && text ? takeApart(layout, text) : null;
    fill($('id-error'), text && layout && !parts ? 'An id must be a number from 0 to 18446744073709551615, decimal or hexadecimal with 0x.' : '');
    if (parts) inputs().forEach((input, i) => (input.value = String(parts[i].value)));
    draw(parts);
    range();
  }

  function build() {
    try {
      const values = Object.fromEntries(inputs().map(input => [input.dataset.field, BigInt(input.value.trim() || '0')]));
      $('id-text').value = String(make(layout, values));
      take();
    } catch (error) {
      fill($('id-error'), error instanceof RangeError ? error.message : 'A field must be a decimal number.');
    }
  }

  const named = (field, value) => `${field.name} ${value}` + (field.name === 'time' ? ' = ' + timeOf(layout, value) : '');

  function draw(parts) {
    const at = $('id-bits');
    if (!parts) {
      at.replaceChildren();
      at.setAttribute('aria-label', 'No id yet');
      return;
    }
    const id = BigInt($('id-text').value.trim());
    at.replaceChildren(...layout.pieces.map(piece => {
      const i = layout.fields.indexOf(piece.field), { value } = parts[i];
      const whole = piece.low + piece.width === piece.field.width; // the highest piece of the field
      return el('span', { class: 'f' + (i % 6) }, bitsOf(piece, id).toString(2).padStart(Number(piece.width), '0'),
        el('small', {}, whole ? named(piece.field, value) : `${piece.name}, lower`));
    }));
    const wrong = parts.find(({ field, value }) => field.fixed !== null && field.fixed !== value);
    if (wrong) fill($('id-error'), `This id does not match the layout: ${wrong.field.name} is ${wrong.value}, but must be ${wrong.field.fixed}.`);
    at.setAttribute('aria-label', parts.map(({ field, value }) => named(field, value)).join('; '));
  }

  function range() {
    const day = $('id-day').value, from = day ? Date.parse(day + 'T00:00:00Z') : NaN;
    if (!layout || Number.isNaN(from)) return fill($('id-range'), '');
    const time = layout.fields.find(f => f.name === 'time');
    const above = Object.fromEntries(inputs().filter((_, i) => layout.fields[i].shift > time.shift)
      .map(input => [input.dataset.field, BigInt(input.value || '0')]));
    const found = rangeOf(layout, BigInt(from) * 1000n, BigInt(from) * 1000n + DAY_US, above);
    const names = Object.entries(above).map(([name, value]) => `${name}=${value}`).join(' ');
    fill($('id-range'), found ? `Ids of ${day}${names ? ' with ' + names : ''}: ${found[0]} to ${found[1]}` :
      `The layout has no ids of ${day}.`);
  }

  $('id-namespace').addEventListener('change', choose);
  $('id-text').addEventListener('input', take);
  $('id-day').addEventListener('input', range);

  return {
    // A namespace that is not open has no layout yet.
    namespaces(list) {
      const known = list.filter(ns => ns.layout), now = known.map(ns => ns.name + ns.layout).join('\n');
      if (now === shown) return;
      shown = now;
      const chosen = $('id-namespace').value;
      layouts = new Map(known.map(ns => [ns.name, readLayout(ns.layout)]));
      $('id-namespace').replaceChildren(...known.map(ns => el('option', { value: ns.name }, ns.name)));
      if (layouts.has(chosen)) $('id-namespace').value = chosen;
      choose();
    },
  };
}
