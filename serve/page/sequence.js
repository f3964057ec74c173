// SPDX-License-Identifier: GPL-3.0-or-later
// The messages about an object between components, as a picture.

import {h, svg} from './dom.js';
import {duration} from './words.js';

const WIDEST_LANE = 150, NARROWEST_LANE = 24, CHARACTER = 6.7, ROW = 26, LINE = 14, LEFT = 70;

// Where a text of such a length begins: at @x, or so much before it that it ends within @width.
const textStart = (x, text, width) => Math.max(LEFT, Math.min(x, width - text.length * CHARACTER));

function arrow(message, y, lane, width) {
  const a = LEFT + message.from * lane, b = LEFT + message.to * lane;
  if (message.kind === 'silence' || message.kind === 'more')
    return [svg('text', {x: LEFT, y, class: 'silence'}, message.text)];
  const sense = b >= a ? 1 : -1;
  return [svg('line', {x1: a, y1: y, x2: b, y2: y, class: message.kind}),
          svg('path', {d: `M${b} ${y}l${-8 * sense} -4v8z`, class: message.kind}),
          svg('text', {x: textStart(Math.min(a, b) + 6, message.text, width), y: y - 4}, message.text)];
}

// Each name stands on the first line that has room for it.
function placeNames(names, xOf, width) {
  const ends = [];
  return names.map((name, i) => {
    const x = textStart(xOf(i) - name.length * CHARACTER / 2, name, width);
    const free = ends.findIndex((end) => end < x), line = free < 0 ? ends.length : free;
    ends[line] = x + (name.length + 1) * CHARACTER;
    return {name, x, y: (line + 1) * LINE};
  });
}

// The lanes share @width, and longer texts reach beyond it.
function draw({lanes, messages}, label, width) {
  const lane = Math.max(NARROWEST_LANE, Math.min(WIDEST_LANE, (width - LEFT - 10) / Math.max(lanes.length - 1, 1)));
  const xOf = (i) => LEFT + i * lane, names = placeNames(lanes, xOf, width);
  const top = Math.max(...names.map(({y}) => y)) + 6, height = top + (messages.length + 1) * ROW;
  const widest = LEFT + Math.max((lanes.length - 1) * lane + 10, ...messages.map(({text}) => text.length * CHARACTER));
  const picture = svg('svg', {role: 'img', 'aria-label': label, width: Math.max(width, widest), height, class: 'sequence'});
  picture.append(...names.map(({y}, i) => svg('line', {x1: xOf(i), y1: y + 3, x2: xOf(i), y2: height, class: 'lane'})),
                 ...names.map(({name, x, y}) => svg('text', {x, y}, name)));
  messages.forEach((message, i) => {
    const y = top + (i + 1) * ROW;
    picture.append(svg('text', {x: 0, y, class: 'at'}, duration(message.at)), ...arrow(message, y, lane, width));
  });
  return picture;
}

// @sequence: as /kvolsim/v1/sequence?format=json has it. Drawn anew for each width of its place.
export function sequencePicture(sequence, label) {
  const place = h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': label});
  let drawn = 0;
  new ResizeObserver(() => {
    if (place.clientWidth === drawn || place.clientWidth === 0)
      return;
    drawn = place.clientWidth;
    place.replaceChildren(draw(sequence, label, drawn));
  }).observe(place);
  return place;
}
