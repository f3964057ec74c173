// SPDX-License-Identifier: GPL-3.0-or-later
// The run's figures as they grow: how long stages take, where the time went, availability.

import {h} from './dom.js';
import {own} from './link.js';
import {t} from './words.js';

const CAUSES_SHOWN = 5;
const body = h('div');

export const numbersPanel = () => h('div', {class: 'panel'}, body);

function table(caption, head, rows) {
  return h('table', null, h('caption', null, caption), h('thead', null, h('tr', null, head.map((word) => h('th', {scope: 'col'}, word)))),
           h('tbody', null, rows.map((row) => h('tr', null, row.map((cell, i) => h(i ? 'td' : 'th', i ? null : {scope: 'row'}, cell))))));
}

const seconds = (value) => value < 1 ? `${(value * 1000).toPrecision(3)}ms` : `${value.toFixed(2)}s`;

function causeRow(cause) {
  const bar = h('span', {class: 'bar'});
  bar.style.width = `${Math.max(1, cause.share * 100)}%`;
  return h('li', null, h('span', {class: 'share'}, bar), `${(cause.share * 100).toFixed(0)} % ${cause.wait}${cause.detail ? `: ${cause.detail}` : ''}`);
}

export async function updateNumbers() {
  if (body.offsetParent === null)
    return;
  const summary = await own('summary');
  const stages = Object.entries(summary.stages ?? {});
  const parts = [table(t("How long each stage took"), [t("stage"), t("number"), 'p50', 'p99', t("longest")],
                       stages.map(([name, one]) => [name, one.count, seconds(one.p50), seconds(one.p99), seconds(one.max)]))];
  const rows = summary.availability ?? [];
  if (rows.length)
    parts.push(table(t("Availability"), [t("workload"), t("availability"), t("outages")],
                     rows.map((row) => [row.workload, row.availability == null ? '–' : `${(row.availability * 100).toFixed(2)} %`, row.outages])));
  for (const [name, stage] of Object.entries(summary.attribution ?? {}))
    parts.push(h('h3', null, t("Where the time went: {stage}", {stage: name})),
               h('ul', {class: 'causes'}, (stage.causes ?? []).slice(0, CAUSES_SHOWN).map(causeRow)));
  body.replaceChildren(...parts);
}
