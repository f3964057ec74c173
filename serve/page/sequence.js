// SPDX-License-Identifier: GPL-3.0-or-later
// The messages about an object between components, as a picture.

import {h, svg} from './dom.js';
import {duration} from './words.js';

const LANE = 150, ROW = 26, LEFT = 80, TOP = 34;

function arrow(message, y) {
  const a = LEFT + message.from * LANE, b = LEFT + message.to * LANE;
  if (message.kind === 'silence' || message.kind === 'more')
    return [svg('text', {x: LEFT, y, class: 'silence'}, message.text)];
  const sense = b >= a ? 1 : -1;
  return [svg('line', {x1: a, y1: y, x2: b, y2: y, class: message.kind}),
          svg('path', {d: `M${b} ${y}l${-8 * sense} -4v8z`, class: message.kind}),
          svg('text', {x: Math.min(a, b) + 6, y: y - 4}, message.text)];
}

// @sequence: as /kvolsim/v1/sequence?format=json has it
export function sequencePicture(sequence, label) {
  const height = TOP + (sequence.messages.length + 1) * ROW, width = LEFT + sequence.lanes.length * LANE + 200;
  const picture = svg('svg', {role: 'img', 'aria-label': label, width, height, class: 'sequence'});
  sequence.lanes.forEach((lane, i) => picture.append(
    svg('line', {x1: LEFT + i * LANE, y1: TOP, x2: LEFT + i * LANE, y2: height, class: 'lane'}),
    svg('text', {x: LEFT + i * LANE, y: i % 2 ? 28 : 14, 'text-anchor': 'middle'}, lane)));
  sequence.messages.forEach((message, i) => {
    const y = TOP + (i + 1) * ROW;
    picture.append(svg('text', {x: 0, y, class: 'at'}, duration(message.at)), ...arrow(message, y));
  });
  return h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': label}, picture);
}
