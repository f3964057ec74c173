// SPDX-License-Identifier: GPL-3.0-or-later
// The line of time: a slider over faults, outages and actions, and the same as a list.

import {h, keep, setAttribute, setText} from './dom.js';
import {own} from './link.js';
import {duration, instant, plural, t} from './words.js';
import {shownTime, world} from './world.js';

const SHORTEST_END = 60e9; // ns
const GROWTH = 1.25;
const STEPS = 1000;

let marks = {faults: [], actions: [], outages: []};
let go = null, isHeld = false, drawnTicks = '';
const bands = h('div', {class: 'bands', 'aria-hidden': 'true'});
const ticks = h('div', {class: 'ticks', 'aria-hidden': 'true'});
const hand = h('div', {class: 'hand', 'aria-hidden': 'true'});
const slider = h('input', {type: 'range', id: 'line', min: 0, max: STEPS, step: 1, value: 0});
const list = h('ol', {class: 'marks'});
const summary = h('summary');

// The end of the line, in ns: that of the scenario; or somewhat after the present, and a fourth later whenever that comes near.
function end() {
  const now = (world.present ?? world.clock)?.ns ?? 0;
  return marks.end ? Math.max(marks.end, now) : SHORTEST_END * GROWTH ** Math.ceil(Math.log(Math.max(now / SHORTEST_END, 1) * 1.05) / Math.log(GROWTH));
}

// onGo(ns) is told of the time that the reader chooses.
export function timeLine(onGo) {
  go = onGo;
  slider.setAttribute('aria-label', t("Time line"));
  slider.addEventListener('input', () => {
    isHeld = true;
    slider.setAttribute('aria-valuetext', instant(slider.value / STEPS * end()));
  });
  slider.addEventListener('change', () => {
    isHeld = false;
    go(Math.round(slider.value / STEPS * end()));
  });
  return [h('div', {class: 'line'}, bands, hand, slider), ticks, h('details', {class: 'quiet'}, summary, list)];
}

function faultText(fault) {
  return `${fault.do} ${fault.victims.join(', ')}`;
}

function all() {
  const now = (world.present ?? world.clock).ns;
  return [
    ...marks.faults.map((one) => ({kind: 'fault', since: one.since, until: Math.min(one.until ?? now, now), text: t("fault: {what}", {what: faultText(one)})})),
    ...marks.outages.map((one) => ({kind: 'outage', since: one.since, until: one.until, text: t("outage: {what}", {what: one.workload})})),
    ...marks.actions.map((one) => ({kind: one.isByHand ? 'hand-action' : 'action', since: one.at, until: one.at,
                                    text: t("action: {what}", {what: `${one.do} ${one.about}`})})),
  ].map((mark, number) => ({...mark, key: `${mark.kind} ${mark.since} ${number}`}));
}

// As many times as there is room for, nine at most, below the line, at round numbers of seconds.
function updateTicks(last) {
  if (drawnTicks === `${last} ${innerWidth}`)
    return;
  drawnTicks = `${last} ${innerWidth}`;
  const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800].find((s) => last / s <= Math.min(8.5, innerWidth / 75) * 1e9) ?? 2592000;
  const times = Array.from({length: Math.floor(last / (step * 1e9)) + 1}, (_, i) => i * step * 1e9).filter((ns) => ns < last * 0.96);
  keep(ticks, times, (ns) => ns, (ns) => h('span', null, duration(ns, 0)), (element, ns) => { element.style.left = `${ns / last * 100}%`; });
}

export function updateLine() {
  const last = end();
  updateTicks(last);
  hand.style.transform = `translateX(${shownTime() / last * 100}%)`;
  if (isHeld || document.activeElement === slider && slider.matches(':active'))
    return;
  const value = String(Math.round(world.clock.ns / last * STEPS));
  if (slider.value === value && slider.ariaValueText)
    return;
  slider.value = value;
  setAttribute(slider, 'aria-valuetext', instant(world.clock.ns));
}

export async function updateMarks() {
  marks = await own('marks', null, world.present ? {of: ''} : {});
  const last = end(), rows = all();
  keep(bands, rows, (mark) => mark.key, (mark) => h('span', {class: mark.kind}), (element, mark) => {
    element.style.left = `${mark.since / last * 100}%`;
    element.style.width = `max(3px, ${(mark.until - mark.since) / last * 100}%)`;
    setAttribute(element, 'title', `${duration(mark.since, 1)} ${mark.text}`);
  });
  rows.sort((a, b) => a.since - b.since);
  setText(summary, [plural(marks.faults.length, t("{n} fault"), t("{n} faults")), plural(marks.outages.length, t("{n} outage"), t("{n} outages")),
                    plural(marks.actions.length, t("{n} action"), t("{n} actions"))].join(t(", ")));
  keep(list, rows.slice(0, 200), (mark) => mark.key, () => h('li', null, h('button', {type: 'button', class: 'plain'})), (element, mark) => {
    const button = element.firstChild;
    button.onclick = () => go(mark.since);
    setText(button, `${instant(mark.since)} ${mark.text}${mark.until > mark.since ? ` (${duration(mark.until - mark.since, 1)})` : ''}`);
  });
}
