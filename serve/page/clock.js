// SPDX-License-Identifier: GPL-3.0-or-later
// The clock: play, pause, speed, steps, a jump to a time or a condition; and the line of time with the faults.

import {h, keep, setAttribute, setText} from './dom.js';
import {setClock, own} from './link.js';
import {duration, instant, t} from './words.js';
import {shownTime, world} from './world.js';

const SPEEDS = ['0.1', '0.5', '1', '2', '5', '10', '60', '600', 'max'];

const time = h('output', {class: 'time', 'aria-label': t("Virtual time")});
const play = h('button', {type: 'button', id: 'play', class: 'primary'});
const speed = h('select', {id: 'speed', 'aria-label': t("Speed")});
const goal = h('input', {id: 'goal', type: 'text', size: 16, spellcheck: 'false'});
const bands = h('div', {class: 'bands'});
const hand = h('div', {class: 'hand'});
const line = h('div', {class: 'line', role: 'img'}, bands, hand);
let wanted = '1', faults = [], report = null;

const isPlaying = () => world.clock && world.clock.speed !== 0;

async function put(body) {
  try {
    const clock = await setClock(body);
    if (clock.isMet === false && body.condition)
      report(t("\"{condition}\" did not come true", {condition: body.condition}));
    world.clock = clock;
    updateClock();
  } catch (error) {
    report(error.message);
  }
}

const speedValue = (word) => word === 'max' ? 'max' : Number(word);
const jump = (ns) => put({speed: 0, until: `${Math.round(ns)}ns`});

// "42s", "+5m" or "pod/web-0 Ready"
function go(event) {
  event.preventDefault();
  const text = goal.value.trim();
  if (text.includes('/'))
    put({speed: 0, condition: text});
  else if (text.startsWith('+'))
    put({speed: 0, for: text.slice(1)});
  else if (text)
    put({speed: 0, until: text});
}

export function clockBar(onReport) {
  report = onReport;
  for (const word of SPEEDS)
    speed.append(h('option', {value: word}, word === 'max' ? t("as fast as it goes") : `× ${word}`));
  speed.value = wanted;
  speed.addEventListener('change', () => {
    wanted = speed.value;
    if (isPlaying())
      put({speed: speedValue(wanted)});
  });
  play.addEventListener('click', () => put({speed: isPlaying() ? 0 : speedValue(wanted)}));
  goal.placeholder = '42s  +5m  pod/web-0 Ready';
  line.addEventListener('click', (event) => {
    const ns = event.offsetX / line.clientWidth * end();
    if (ns > world.clock.ns)
      jump(ns);
    else
      report(t("Time goes forward only."));
  });
  const step = (label, id, body) => h('button', {type: 'button', id, click: () => put({speed: 0, ...body})}, label);
  return h('section', {class: 'clock', 'aria-label': t("Clock")},
           h('div', {class: 'row'}, play, speed, step(t("Next event"), 'step-event', {step: 'event'}),
             step(t("Next write"), 'step-write', {step: 'write', for: '1h'}), step('+10s', 'step-10', {for: '10s'}),
             h('form', {class: 'row', submit: go}, h('label', {for: 'goal'}, t("Go to")), goal, h('button', {id: 'go'}, t("Go"))), time),
           line);
}

const end = () => Math.max(world.clock?.ns ?? 0, 60e9) * 1.1;

export function updateClock() {
  const clock = world.clock;
  if (!clock)
    return;
  if (clock.speed !== 0 && document.activeElement !== speed) {
    wanted = clock.speed === 'max' ? 'max' : String(clock.speed);
    if (SPEEDS.includes(wanted))
      speed.value = wanted;
  }
  setText(play, isPlaying() ? t("Pause") : t("Play"));
  setText(time, instant(shownTime()));
  hand.style.left = `${clock.ns / end() * 100}%`;
  setAttribute(line, 'aria-label', t("{time} have passed; {n} faults so far", {time: duration(clock.ns, 1), n: faults.length}));
  keep(bands, faults, (fault) => fault.number, () => h('span'), (element, fault) => {
    const until = Math.min(fault.until ?? clock.ns, clock.ns);
    element.style.left = `${fault.since / end() * 100}%`;
    element.style.width = `max(3px, ${(until - fault.since) / end() * 100}%)`;
    setAttribute(element, 'title', `${fault.do} ${fault.victims.join(', ')}: ${duration(fault.since, 1)}`);
  });
}

export async function updateFaults() {
  faults = (await own('faults')).faults;
}
