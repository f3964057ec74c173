// SPDX-License-Identifier: GPL-3.0-or-later
// The story as it goes on: the latest entries, newest first.

import {h, keep} from './dom.js';
import {duration, shortName, t} from './words.js';
import {findObject, world} from './world.js';

const SHOWN = 150;
const list = h('ol', {class: 'story'});
const filter = h('input', {type: 'search', 'aria-label': t("Show only entries with this text")});
const empty = h('p', {class: 'quiet', hidden: true}, t("Nothing has happened yet."));
let select = null, newest = null;

export function storyPanel(onSelect) {
  select = onSelect;
  filter.placeholder = t("Filter");
  filter.addEventListener('input', () => {
    newest = null;
    updateStory();
  });
  return h('div', {class: 'panel'}, filter, list, empty);
}

export function entryText(entry) {
  const who = [entry.who ?? t("somebody"), entry.where].filter(Boolean).join(' ');
  return [who, entry.verb ?? '', entry.object ?? '', entry.what ?? '', entry.message ?? ''].filter(Boolean).join(' · ');
}

function makeEntry(entry) {
  const text = h('span', null, shortName(entryText(entry)));
  const body = entry.object
    ? h('button', {type: 'button', class: 'plain', click: () => select({type: 'object', row: findObject(entry.object, entry.namespace)})}, text)
    : text;
  return h('li', {'data-kind': entry.isTrouble ? 'trouble' : entry.kind}, h('time', null, duration(entry.at)), ' ', body,
           entry.rule && h('span', {class: 'rule'}, ` ${entry.rule}`));
}

export function updateStory() {
  const last = world.story.at(-1)?.number ?? -1;
  if (last === newest || list.offsetParent === null)
    return;
  newest = last;
  const words = filter.value.toLowerCase();
  const entries = world.story.filter((entry) => !words || entryText(entry).toLowerCase().includes(words)).slice(-SHOWN).reverse();
  keep(list, entries, (entry) => `${world.run} ${entry.number}`, makeEntry);
  empty.hidden = entries.length > 0;
}
