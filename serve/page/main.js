// SPDX-License-Identifier: GPL-3.0-or-later
// Puts the page together, and asks the server for changes again and again.

import {chooseLanguage} from './words.js';

const POLL_MS = 150; // between two answers
const SLOW_MS = 1500; // ... of questions that cost more

async function begin() {
  await chooseLanguage(); // the modules below make elements with texts as they load
  await (await import('./recorded.js')).openRecording();
  const [{h, setAttribute, setText, tabList}, {isRecorded, own, setBase, setToken}, {language, store, t}, {apply, findObject, forgetAll, fullWordOf, onChange, rowsOf, wordOf, world},
         {addEntry, arrowsOn, clearArrows, stageMoved}, {boxOf, stageBoxes, updateStage}, {nodeBox, nodesSection, updateNodes},
         {clockBar, updateClock}, {updateMarks}, {detailsPanel, showAgain, showDetails, updateDetails}, {handsPanel}, {storyPanel, updateStory},
         {numbersPanel, updateNumbers}, {lessonsPanel, openLesson, updateLessons}] = await Promise.all(
    ['dom', 'link', 'words', 'world', 'arrows', 'stage', 'nodes', 'clock', 'marks', 'details', 'hands', 'story', 'numbers', 'lessons'].map((name) => import(`./${name}.js`)));

  const said = h('p', {class: 'said', role: 'status', 'aria-live': 'polite'});
  const report = (text) => setText(said, text);
  const select = (what) => {
    side.select('details');
    showDetails(what, true);
  };

  // ---- Find an object by its name ----
  const names = h('datalist', {id: 'names'});
  const find = h('input', {id: 'find', type: 'search', list: 'names', 'aria-label': t("Find an object"), placeholder: 'pod/web-0'});
  find.addEventListener('input', () => {
    const words = find.value.toLowerCase();
    const rows = [...world.objects.values()].filter((row) => fullWordOf(row).toLowerCase().includes(words)).slice(0, 20);
    names.replaceChildren(...rows.map((row) => h('option', {value: fullWordOf(row)})));
  });
  find.addEventListener('change', () => {
    const rows = [...world.objects.values()], wanted = find.value.trim();
    const row = rows.find((one) => fullWordOf(one) === wanted) ?? rows.find((one) => wordOf(one) === wanted);
    if (row)
      select({type: 'object', row});
    else
      report(t("There is no such object."));
  });

  const tongue = h('button', {type: 'button', id: 'language', lang: language() === 'zh' ? 'en' : 'zh-CN', click: () => {
    store('kvolsim-language', language() === 'zh' ? 'en' : 'zh');
    location.reload();
  }}, language() === 'zh' ? 'English' : '中文');

  const hands = isRecorded() ? null : handsPanel(report, select);
  const panels = [
    {id: 'details', title: t("Selected"), panel: detailsPanel(report)},
    {id: 'story', title: t("Story"), panel: storyPanel(select), shown: updateStory},
    ...(hands ? [{id: 'hands', title: t("Do"), panel: hands, shown: hands.update}] : []),
    {id: 'numbers', title: t("Figures"), panel: numbersPanel(), shown: () => updateNumbers().catch(() => {})},
    ...isRecorded() ? [] : [{id: 'lessons', title: t("Lessons"), panel: lessonsPanel(report, show), shown: () => updateLessons().catch(() => {})}],
  ];
  const scenario = h('p', {class: 'scenario'});
  const side = tabList(t("More"), panels);
  const wider = h('button', {type: 'button', id: 'wider', 'aria-pressed': 'false', 'aria-label': t("Wider"), title: t("Wider"), click: () => {
    const isWide = document.body.toggleAttribute('data-wide');
    wider.setAttribute('aria-pressed', isWide);
  }}, '⇔');
  const stage = h('main', {class: 'stage'}, ...stageBoxes(select), nodesSection(select));
  document.body.append(
    h('header', {class: 'top'}, h('a', {href: '#side', class: 'skip', click: (event) => {
      event.preventDefault();
      side.querySelector('[aria-selected=true]').focus();
    }}, t("To the details")), h('h1', null, 'kvolsim'), scenario, find, names, said, tongue), clockBar(report, show), stage,
    h('aside', {class: 'side', id: 'side', 'aria-label': t("More")}, wider, side, ...panels.map((panel) => panel.panel)));
  side.select('details');
  arrowsOn(stage, (who, where) => (where && nodeBox(where)) || boxOf(who));

  // ---- Which run is on the stage ----

  // With a variant the reader chooses one of two.
  const chosen = h('select', {id: 'run', 'aria-label': t("Run on the stage"), hidden: true, change: () => {
    world.path = chosen.value;
    show(world.present).catch((error) => report(error.message));
  }});
  const askRuns = async () => (await own('runs', null, {of: ''}).catch(() => ({runs: []}))).runs;
  const takeRuns = (runs) => {
    world.paths = runs.length ? runs.map((run) => run.path) : [''];
    if (!world.paths.includes(world.path))
      world.path = ''; // another server has no variant
    const name = runs.find((run) => run.path === world.path)?.name;
    setText(scenario, name ?? '');
    document.title = name ? `${name} · kvolsim` : 'kvolsim';
    chosen.replaceChildren(...runs.map((run, i) => h('option', {value: run.path}, `${String.fromCharCode(65 + i)} · ${run.title ?? run.name}`)));
    chosen.value = world.path;
    chosen.hidden = runs.length < 2;
    setAttribute(document.body, 'data-race', runs.length > 1 ? 'yes' : null);
  };
  takeRuns(await askRuns());
  find.after(chosen);

  // @present: the clock of the present, whose past is shown; null: the present is
  async function show(present) {
    world.present = present;
    setBase(`${world.path}${present ? '/past' : ''}`);
    forgetAll();
    clearArrows();
    await ask();
    takeRuns(await askRuns());
    showAgain();
    await updateMarks();
  }

  // ---- The server's answers ----
  onChange(({story, isWhole}) => {
    if (isWhole)
      clearArrows();
    else
      story.forEach(addEntry);
    updateStage();
    updateNodes();
    updateDetails();
    updateStory();
    stageMoved();
  });

  // Returns the token that the reader types.
  function askForToken() {
    const input = h('input', {id: 'token', type: 'password', autocomplete: 'off', required: true});
    const dialog = h('dialog', {'aria-labelledby': 'token-label'},
                     h('form', {method: 'dialog', class: 'row'}, h('label', {for: 'token', id: 'token-label'}, t("The token of this server")), input,
                       h('button', null, t("Go"))));
    document.body.append(dialog);
    dialog.showModal();
    return new Promise((resolve) => dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(input.value.trim());
    }));
  }

  // Asks for changes. An answer that another one has overtaken is of no use, nor one of a run that has left the stage.
  async function ask() {
    const {clock, next, present, storyNext} = world;
    const stage = await own('stage', {since: next, story: storyNext});
    if (clock === world.clock && present === world.present && next === world.next && storyNext === world.storyNext && !apply(stage))
      apply(await own('stage', {since: 0, story: 0}));
  }

  async function poll() {
    const {path, present} = world;
    try {
      await ask();
      if (document.body.dataset.lost) {
        delete document.body.dataset.lost;
        await show(null); // another run may answer now
        report(t("The server answers again."));
      }
    } catch (error) {
      if (error.code === 401) {
        report(error.message);
        setToken(await askForToken());
        report('');
      } else if (path !== world.path || present !== world.present)
        report(''); // the question was about a run that has left the stage
      else if (error.code === 404 && world.present)
        await show(null); // somebody else has left the past
      else {
        document.body.dataset.lost = 'yes';
        report(error.code === 0 ? t("The server does not answer. The page goes on once it does.")
                                : t("The server does not answer: {reason}", {reason: error.message}));
        world.path = '';
        world.present = null;
        setBase('');
        forgetAll(); // another run may answer next
        clearArrows();
      }
    }
    setTimeout(poll, document.hidden || document.body.dataset.lost ? SLOW_MS : POLL_MS);
  }

  function tick() {
    updateClock();
    requestAnimationFrame(tick);
  }

  async function slow() {
    try {
      await updateMarks();
      await updateNumbers();
    } catch { /* poll() tells */ }
    setTimeout(slow, SLOW_MS);
  }

  await poll();
  document.body.dataset.ready = 'yes';
  performance.mark('stage'); // tests/serve/page-bench.py reads it
  tick();
  slow();

  // "#object=pod/web-0&namespace=shop" selects an object; "#lesson=8&at=42s" opens a lesson at a time.
  async function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (wanted.has('lesson') && !isRecorded()) {
      side.select('lessons');
      await openLesson(wanted.get('lesson'), wanted.get('at'));
    }
    if (wanted.has('object')) {
      const [kind, name] = wanted.get('object').split('/'), space = wanted.get('namespace');
      select({type: 'object', row: rowsOf(kind).find((one) => one.name === name && (space ?? one.namespace) === one.namespace) ??
                                   findObject(wanted.get('object'), space ?? '')});
    }
  }
  addEventListener('hashchange', follow);
  await follow();
}

begin();
