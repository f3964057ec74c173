// SPDX-License-Identifier: GPL-3.0-or-later
// The reader acts on the cluster. Each act becomes a part of the session, which can be saved as a scenario.

import {h} from './dom.js';
import * as link from './link.js';
import {t} from './words.js';
import {fullWordOf, rowsOf, world} from './world.js';

const TARGETS_MAX = 200; // of a kind

const {ask, isRecorded, own, pathOf} = link;

const button = (label, id, click) => h('button', {type: 'button', id, click}, label);

// Does it to all runs: they race under the same faults.
async function toAll(deed) {
  for (const path of world.paths)
    await deed(path);
}

// An action begins with the next instant: a clock that stands still goes just so far.
async function act(list, item) {
  await toAll((of) => link.act(list, item, of));
  if (world.clock.speed === 0)
    await link.setClock({for: '1ms'});
}

// Returns a listener that does @deed and reports its outcome.
function doing(report, deed, done) {
  return async () => {
    try {
      await deed();
      report(done ?? t("Done."));
    } catch (error) {
      report(error.message);
    }
  };
}

function scaleForm(row, report) {
  const number = h('input', {type: 'number', min: 0, max: 10000, value: row.replicas, id: 'replicas', 'aria-label': t("Replicas")});
  const scale = () => toAll((of) => ask(pathOf(row, 'scale'), {method: 'PATCH', type: 'application/merge-patch+json', of,
                                                               body: {spec: {replicas: Number(number.value)}}}));
  return [number, button(t("Scale"), 'scale', doing(report, scale))];
}

function nodeButtons(row, report) {
  const fault = (label, what, more) => button(label, what, doing(report, () => act('faults', {node: row.name, do: what, ...more})));
  return [button(t("Drain"), 'drain', doing(report, () => act('actions', {drain: {node: row.name}}))),
          button(row.isCordoned ? t("Uncordon") : t("Cordon"), 'cordon', doing(report, () =>
            act('actions', {[row.isCordoned ? 'uncordon' : 'cordon']: {node: row.name}}))),
          fault(t("Cut the power for 10 minutes"), 'power-off', {restartAfter: '10m'}),
          fault(t("Cut the power for good"), 'power-off'),
          fault(t("Cut the network for 10 minutes"), 'cut-network', {for: '10m'})];
}

// Returns the buttons for a selection.
export function handsFor(selection, report) {
  if (isRecorded())
    return [];
  if (world.present)
    return [h('p', {class: 'quiet'}, t("The past can be looked at only."))];
  if (selection.type === 'driver')
    return [button(t("Slow down 10 times for 5 minutes"), 'slow', doing(report, () => act('faults', {driver: selection.name, do: 'slow', factor: 10, for: '5m'}))),
            button(t("Hang for 5 minutes"), 'hang', doing(report, () => act('faults', {driver: selection.name, do: 'hang', for: '5m'}))),
            button(t("Restart"), 'restart', doing(report, () => act('faults', {driver: selection.name, do: 'restart'})))];
  if (selection.type === 'process') {
    const {process} = selection.item;
    const whom = {component: process.name, ...(process.driver && {driver: process.driver})};
    if (process.name === 'kube-apiserver')
      return [button(t("Outage of 1 minute"), 'outage', doing(report, () => act('faults', {...whom, do: 'outage', for: '1m'})))];
    return [button(t("Crash it"), 'crash', doing(report, () => act('faults', {...whom, do: 'crash', restartAfter: '10s'}))),
            button(t("Hang for 1 minute"), 'hang', doing(report, () => act('faults', {...whom, do: 'hang', for: '1m'})))];
  }
  const {row} = selection;
  if (row.isGone)
    return [];
  const own = row.kind === 'node' ? nodeButtons(row, report) : row.replicas !== undefined ? scaleForm(row, report) : [];
  return [...own, button(t("Delete"), 'delete', doing(report, () => toAll((of) => ask(pathOf(row), {method: 'DELETE', of}))))];
}

// ---- Manifests ----

async function applyOne(text) {
  const object = await own('read', null, {method: 'POST', type: 'application/yaml', body: text});
  const {kind, apiVersion, metadata} = object;
  if (!kind || !apiVersion || !metadata?.name)
    throw new Error(t("A manifest needs apiVersion, kind and metadata.name."));
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const resource = (await ask(root)).resources.find((one) => one.kind === kind && !one.name.includes('/'));
  if (!resource)
    throw new Error(t("{apiVersion} has no kind {kind}.", {apiVersion, kind}));
  const space = resource.namespaced ? `/namespaces/${encodeURIComponent(metadata.namespace ?? 'default')}` : '';
  await toAll((of) => ask(`${root}${space}/${resource.name}/${encodeURIComponent(metadata.name)}?fieldManager=page&force=true`,
                          {method: 'PATCH', type: 'application/apply-patch+yaml', body: object, of}));
}

async function saveSession() {
  const text = await own('save');
  const link = h('a', {download: 'session.yaml', href: URL.createObjectURL(new Blob([text], {type: 'application/yaml'}))});
  link.click();
  URL.revokeObjectURL(link.href);
}

// All that something can be done to: [the kind's word, [[name, selection]]].
function targets() {
  const processes = world.processes.filter((process) => !process.node);
  const objects = (kind) => rowsOf(kind).slice(0, TARGETS_MAX).map((row) => [fullWordOf(row), {type: 'object', row}]);
  return [[t("Nodes"), objects('node')],
          [t("Components"), processes.map((process) => [process.driver ? `${process.name} (${process.driver})` : process.name,
                                                        {type: 'process', item: {process, title: process.name}}])],
          [t("Drivers"), world.drivers.map((driver) => [driver.name, {type: 'driver', name: driver.name}])],
          [t("Workloads"), [...objects('statefulset'), ...objects('deployment')]]];
}

// A list of targets, and a button that chooses one.
function targetForm(select) {
  const list = h('select', {id: 'target', 'aria-label': t("Target")});
  let known = [];
  const fill = () => {
    const groups = targets().filter(([, entries]) => entries.length), chosen = list.value;
    known = groups.flatMap(([, entries]) => entries);
    if (known.map(([name]) => name).join() === [...list.options].map((option) => option.textContent).join())
      return;
    let n = 0;
    list.replaceChildren(...groups.map(([label, entries]) => h('optgroup', {label}, entries.map(([name]) => h('option', {value: n++}, name)))));
    list.value = chosen || '0';
  };
  list.addEventListener('focus', fill);
  list.addEventListener('pointerdown', fill);
  return {fill, element: h('div', {class: 'row'}, list, button(t("Choose"), 'choose', () => known[list.value] && select(known[list.value][1])))};
}

// Returns the panel; its update() is called when it is seen.
export function handsPanel(report, select) {
  const target = targetForm(select);
  const text = h('textarea', {id: 'manifest', rows: 14, spellcheck: 'false', 'aria-label': t("Manifests, as YAML")});
  text.value = 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n' +
               '  resources:\n    requests: {storage: 1Gi}\n';
  const apply = async () => {
    for (const part of text.value.split(/^---.*$/m).filter((one) => one.trim()))
      await applyOne(part);
  };
  const panel = h('div', {class: 'panel'},
           h('p', null, t("Choose a node, a component, a driver or an object to do something to it. What you do becomes a part of the session's scenario.")),
           target.element, h('h3', null, t("Manifests")), text, h('div', {class: 'row'}, button(t("Apply"), 'apply', doing(report, apply)),
                   button(t("Save the session as a scenario"), 'save', doing(report, saveSession))));
  return Object.assign(panel, {update: target.fill});
}
