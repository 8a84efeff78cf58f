// Interactive parts of a page: search, the answer of a cell, theme. Without scripts, only links to cells fail.

'use strict';

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function')
      node.addEventListener(name, value);
    else
      node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== ''));
  return node;
}

function byId(id) { return document.getElementById(id); }

function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

// --- theme

const THEMES = {'': 'Theme: system', light: 'Theme: light', dark: 'Theme: dark'};

function showTheme(theme) {
  if (theme)
    document.documentElement.dataset.theme = theme;
  else
    delete document.documentElement.dataset.theme;
  byId('theme').textContent = THEMES[theme];
}

function startTheme() {
  const names = Object.keys(THEMES);
  let theme = names.includes(stored('attnprobe-theme')) ? stored('attnprobe-theme') : '';
  byId('theme').hidden = false;
  byId('theme').addEventListener('click', () => {
    theme = names[(names.indexOf(theme) + 1) % names.length];
    try {
      localStorage.setItem('attnprobe-theme', theme);
    } catch {
      // A page from a file has no storage, so the theme applies only to this page.
    }
    showTheme(theme);
  });
  showTheme(theme);
}

// --- search: every word must be in a row's text; "-word" must not

function startSearch() {
  const field = byId('search');
  if (!field) return;
  const rows = [...document.querySelectorAll('#rows tr, .rows tr')].map(
      (row) => ({row, text: `${row.cells[0].textContent} ${row.dataset.words ?? ''}`.toLowerCase()}));
  const find = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter((word) => word && word !== '-');
    let count = 0;
    for (const {row, text} of rows) {
      row.hidden = !words.every((word) => (word[0] === '-' ? !text.includes(word.slice(1)) : text.includes(word)));
      count += row.hidden ? 0 : 1;
    }
    byId('found').value = words.length === 0 ? '' : `${count} of ${rows.length}`;
    const query = field.value.trim();
    history.replaceState(null, '', `${location.pathname}${query ? `?q=${encodeURIComponent(query)}` : ''}${location.hash}`);
  };
  field.closest('.search').hidden = false;
  field.addEventListener('input', find);
  field.value = new URLSearchParams(location.search).get('q') ?? '';
  if (field.value) find();
}

// --- a cell of a config's page: #GPU/VERSION

function isOfVersion(version, word) { return version === word || version.startsWith(`${word}.`); }

/** [target, version] of a fragment: for "9.28" the newest 9.28, for only a GPU its newest answer; null: none. */
function cellOf(data, fragment) {
  const [address, word = ''] = fragment.split('/');
  const target = data.targets.find((one) => one.address === address || one.id === address);
  const runs = target && data.cells[target.id];
  if (!runs) return null;
  const asked = data.cudnns.filter((version) => runAt(data, target, version));
  const version = asked.filter((one) => word === '' || isOfVersion(one, word)).at(-1);
  return version ? {target, version} : {target, version: null, word};
}

function runAt(data, target, version) {
  const at = data.cudnns.indexOf(version);
  return data.cells[target.id].find(({from, to}) => data.cudnns.indexOf(from) <= at && at <= data.cudnns.indexOf(to));
}

function list(lines) { return element('ul', {}, lines.map((line) => element('li', {}, line))); }

/** A link to the meaning of an id; '' without an id. */
function idLink(id) { return id ? element('a', {class: 'id', href: `../ids.html#${encodeURIComponent(id)}`}, `[${id}]`) : ''; }

/** Obstacles and notes, each with its source and its id. */
function told(ones) {
  return element('ul', {}, ones.map(({text, source, id}) => element('li', {}, source ? `${text} (${source}) ` : `${text} `, idLink(id))));
}

function part(heading, ...children) { return [element('h3', {}, heading), ...children]; }

function commandBox(text) {
  const copy = element('button', {type: 'button', click: () => {
    navigator.clipboard?.writeText(text).then(() => { copy.textContent = 'Copied'; });
  }}, 'Copy');
  return element('pre', {class: 'command'}, text, copy);
}

const STYLES = {yes: 'yes', but: 'but', no: 'no', invalid_graph: 'no'};

function answerParts(answer) {
  const parts = [];
  if (answer.first)
    parts.push(element('p', {}, `First choice: engine ${answer.first.engine} ${answer.first.knobs}`,
                       answer.working > 1 ? `, of ${answer.working} engine configs that work` : '',
                       answer.first.median_ms === undefined ? '' : `; ${answer.first.median_ms} ms`));
  if (answer.but)
    parts.push(...part('Obstacles', told(answer.but)));
  if (answer.reason)
    parts.push(...part('In cuDNN’s words', element('blockquote', {}, answer.status ? `${answer.status}: ${answer.reason} ` : `${answer.reason} `, idLink(answer.reason_id))));
  if (answer.explanation) parts.push(element('p', {}, answer.explanation));
  if (answer.frontend) parts.push(...part('cudnn-frontend refuses it', element('p', {}, answer.frontend)));
  if (answer.frameworks) parts.push(...part('Frameworks', list(answer.frameworks)));
  if (answer.advice) parts.push(...part('Workarounds', list(answer.advice)));
  if (answer.notes) parts.push(...part('Notes', told(answer.notes)));
  if (answer.from) parts.push(element('p', {class: 'muted'}, answer.from));
  return parts;
}

function showCell(data) {
  const place = byId('cell');
  for (const chosen of document.querySelectorAll('.chosen')) chosen.classList.remove('chosen');
  const fragment = decodeURIComponent(location.hash.slice(1));
  const cell = fragment ? cellOf(data, fragment) : null;
  if (!cell) {
    place.replaceChildren(...(fragment ? [element('p', {}, `There is no GPU “${fragment.split('/')[0]}” here.`)] : []));
    return;
  }
  const {target, version} = cell;
  if (!version) {
    place.replaceChildren(element('p', {}, `cuDNN ${cell.word} was not asked about ${target.id} here.`));
    return;
  }
  const run = runAt(data, target, version);
  const answer = data.answers[run.answer];
  const at = data.cudnns.indexOf(version);
  let column = 0;
  for (const field of document.querySelectorAll(`tr[data-gpu="${CSS.escape(target.id)}"] td[colspan]`)) {
    if (column <= at && at < column + field.colSpan) field.classList.add('chosen');
    column += field.colSpan;
  }
  const span = run.from === run.to ? `cuDNN ${version}` : `cuDNN ${version} (the same from ${run.from} to ${run.to})`;
  place.replaceChildren(
      element('h2', {}, element('b', {class: `word ${STYLES[answer.answer] ?? 'failed'}`}, answer.answer), ` on ${target.id}, ${span}`),
      ...answerParts(answer),
      ...(data.command ?
              part('Ask again', commandBox(`${data.command} --target ${data.target_words?.[target.id] ?? target.id} --cudnn ${version}`)) :
              []));
}

function startCells() {
  const text = byId('data')?.textContent;
  if (!text) return;
  const data = JSON.parse(text);
  addEventListener('hashchange', () => showCell(data));
  showCell(data);
  if (location.hash) byId('cell').scrollIntoView({block: 'nearest'});
  byId('badges').append(...data.targets.filter(({id}) => data.cells[id]).map(
      ({id, address}) => element('a', {href: `../badge/${data.address}/${address}.svg`}, `${id} `)));
}

startTheme();
startSearch();
startCells();
