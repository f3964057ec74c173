// SPDX-License-Identifier: GPL-3.0-or-later
// Lessons: a story, questions which the run itself answers, and a task. The server knows the answers.

import {h, setText} from './dom.js';
import {own} from './link.js';
import {language, store, stored, t} from './words.js';

const TRIES = 2; // before the answer is told
const PROGRESS = 'kvolsim-lessons';

const choice = h('select', {id: 'lesson', 'aria-label': t("Lesson")});
const story = h('div', {class: 'lesson'});
let report = null, show = null, lesson = null;
let wanted = 0; // how many lessons somebody has asked for

const post = (path, body) => own(`lesson/${path}`, null, {method: 'POST', body: {lesson: String(lesson.number), lang: language(), ...body}, of: ''});

async function trying(deed) {
  try {
    await deed();
  } catch (error) {
    report(error.message);
  }
}

// ---- Progress, kept in the browser ----

function progress() {
  try {
    return JSON.parse(stored(PROGRESS)) ?? {};
  } catch {
    return {};
  }
}

function remember(what) {
  const all = progress();
  store(PROGRESS, JSON.stringify({...all, [lesson.number]: {...all[lesson.number], ...what}}));
  markChoices();
}

function markChoices() {
  const all = progress();
  for (const option of choice.options)
    option.textContent = `${all[option.value]?.isSolved ? '✓ ' : ''}${option.value}. ${option.dataset.title}`;
}

// ---- Questions ----

function answerField(question, name) {
  if (!question.choices) {
    const input = h('input', {type: 'text', name, 'aria-label': question.ask, spellcheck: 'false', autocomplete: 'off'});
    return {element: input, given: () => input.value.trim()};
  }
  const radios = question.choices.map((word) => h('input', {type: 'radio', name, value: word}));
  return {element: h('div', null, radios.map((radio) => h('label', {class: 'choice'}, radio, ` ${radio.value}`))),
          given: () => radios.find((radio) => radio.checked)?.value ?? ''};
}

function proof(reply) {
  return [h('p', null, reply.isRight ? t("Right.") : t("It is {answer}.", reply), ' ', reply.because),
          h('details', null, h('summary', null, t("How to find it")),
            h('pre', {class: 'text'}, `${reply.commands.map((line) => `$ ${line}`).join('\n')}\n${reply.told}`))];
}

function questionForm(question, number, questionRight) {
  const field = answerField(question, `question-${number}`);
  const said = h('div', {role: 'status', class: 'told'});
  const button = h('button', null, t("Answer"));
  let tries = 0;
  const submit = (event) => {
    event.preventDefault();
    trying(async () => {
      const given = field.given();
      if (!given)
        return;
      let reply = await post('answer', {question: number, answer: given});
      if (reply.isRight)
        questionRight(number);
      else if (++tries < TRIES) {
        said.replaceChildren(h('p', null, t("No. Once more.")));
        return;
      } else
        reply = await post('answer', {question: number});
      button.disabled = true;
      said.replaceChildren(...proof(reply));
    });
  };
  return h('form', {class: 'question', submit}, h('fieldset', null, h('legend', null, `${number + 1}. ${question.ask}`), field.element, button, said));
}

// ---- The task ----

function taskForm() {
  const said = h('pre', {class: 'text', role: 'status'});
  const solution = h('textarea', {id: 'solution', rows: 8, spellcheck: 'false', 'aria-label': t("A solution in YAML")});
  const check = (body) => () => trying(async () => {
    setText(said, '');
    try {
      const {isSolved, report: found} = await post('check', body());
      setText(said, `${found}${isSolved ? t("Solved.") : t("Not yet.")}`);
      if (isSolved)
        remember({isSolved: true});
    } catch (error) {
      setText(said, error.message);
    }
  });
  return h('section', {class: 'task'}, h('h3', null, t("Task")), h('p', null, lesson.task.text),
           h('div', {class: 'row'}, h('button', {type: 'button', id: 'check-session', click: check(() => ({}))}, t("Check what I did here"))),
           h('p', {class: 'quiet'}, t("Or as a file; it may have: {allowed}", {allowed: lesson.task.allows.join(', ')})), solution,
           h('div', {class: 'row'}, h('button', {type: 'button', id: 'check-text', click: check(() => ({solution: solution.value}))}, t("Check this"))), said);
}

// ---- The panel ----

async function list() {
  if (choice.options.length)
    return null;
  const {lessons, open} = await own('lessons', {lang: language()}, {of: ''});
  choice.replaceChildren(...lessons.map((one) => h('option', {value: one.number, 'data-title': one.title})));
  markChoices();
  return open ?? 1;
}

async function showLesson(number) {
  wanted++;
  await list();
  lesson = await own('lesson', {lesson: number, lang: language()}, {of: ''});
  const right = new Set();
  const questionRight = (which) => {
    right.add(which);
    remember({right: Math.max(right.size, progress()[lesson.number]?.right ?? 0)});
  };
  choice.value = String(lesson.number);
  story.replaceChildren(h('h2', null, lesson.title), h('p', null, lesson.narrative),
                        ...lesson.questions.map((question, i) => questionForm(question, i, questionRight)), taskForm());
}

// Makes a lesson's cluster the present, as it is at a time ("42s").
export function openLesson(number, at) {
  return trying(async () => {
    await showLesson(number);
    await post('open', at ? {at} : {});
    await show(null);
    history.replaceState(null, '', `#lesson=${lesson.number}${at ? `&at=${at}` : ''}`);
    report(t("Lesson {number} is open.", lesson));
  });
}

// onShow(null): another run is the present now.
export function lessonsPanel(onReport, onShow) {
  report = onReport;
  show = onShow;
  choice.addEventListener('change', () => trying(() => showLesson(choice.value)));
  const open = h('button', {type: 'button', id: 'open-lesson', click: () => choice.value && openLesson(choice.value)}, t("Open it"));
  return h('div', null, h('div', {class: 'row'}, choice, open),
           h('p', {class: 'quiet'}, t("An open lesson takes the place of the cluster here, and begins at its start.")), story);
}

// Shows a lesson when the panel is seen first: the one that is open, if one is.
export async function updateLessons() {
  const before = wanted, open = lesson ? null : await list();
  if (open && wanted === before) // a link may ask for another one meanwhile
    await showLesson(open);
}
