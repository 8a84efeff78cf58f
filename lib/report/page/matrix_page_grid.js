// The matrix as a grid of rows × columns, with keyboard navigation.

const FIXED_COLUMNS = 2;  // the row's name, and how many of its cells are yes

/** Rebuilds the table for other rows or columns. */
function drawGrid(page) {
  const {rows, columns} = page;
  const table = byId('grid');
  const heads = columns.values.map(columnHead);
  const familyRow = element('tr', {class: 'families'});
  const name = element('th', {scope: 'col', class: 'config'}, rows.title);
  const head = element('thead', {}, familyRow, element('tr', {class: 'gpus'}, name, sinceHead(page), heads));
  const lines = rows.values.map((value) => gridRow(value, columns.values.length));
  table.tHead.replaceWith(head);
  table.tBodies[0].replaceChildren(...lines);
  byId('box').classList.toggle('families-shown', columns.of === 'target');
  page.grid = {
    rows: lines,
    heads,
    familyRow,
    shown: [],
    current: null,
    groups: groupCells(page),
    painted: [],
    matching: []
  };
}

/** Next to each row: the first supporting version, if one of several versions is shown. */
function hasSince(page) { return data.cudnns.length > 1 && versionsShown(page).length === 1; }

function sinceHead(page) {
  const about = hasSince(page) ?
      'The first cuDNN here that says yes to any of the shown cells of the row; below, how many are yes now' :
      'How many of the shown cells are yes';
  return element('th', {scope: 'col', class: 'since', title: about}, hasSince(page) ? 'Yes since' : 'Yes');
}

function columnHead({name, detail, about}) {
  return element(
      'th', {scope: 'col', class: 'gpu', title: about},
      element('span', {class: 'gpu-name'}, element('b', {}, name), element('small', {}, detail)));
}

function gridRow({name, detail, about}, width) {
  const row = element(
      'tr', {},
      element(
          'th', {scope: 'row', class: 'config', title: about}, element('b', {}, breakable(name)),
          element('small', {}, detail)),
      element('td', {class: 'since'}));
  for (let column = 0; column < width; column++) row.append(document.createElement('td'));
  return row;
}

function cellOf(grid, row, column) { return grid.rows[row].cells[FIXED_COLUMNS + column]; }

/**
 * Another version, or other filters: rows with a match are shown, and what does not match is faded in them.
 */
function paintGrid(page) {
  const {grid} = page;
  const width = page.columns.values.length;
  const keepUnasked = !filtersAnswers();
  const columns = new Array(width).fill(false);
  grid.matching = grid.groups.map((cells, at) => {
    const matches = [];
    for (const cell of cells) {
      const bits = refusedBy(page.selection, cell, placeOfCell(cell));
      if ((bits & ~ABOUT_ANSWERS) === 0) columns[at % width] = true;
      if (bits === 0 && data.cells[cell] !== NEVER) matches.push(cell);
    }
    return matches;
  });
  showColumns(page, columns);
  grid.rows.forEach((row, at) => {
    let kept = false;
    for (const column of grid.shown) {
      const group = at * width + column;
      const keep =
          grid.matching[group].length > 0 || (keepUnasked && isShownUnasked(page, grid.groups[group]));
      if (keep) kept = true;
      paintCell(page, at, column, keep);
    }
    row.hidden = !kept;
    if (kept) paintSince(page, row, at);
  });
  keepCurrent(grid);
}

/** A place whose cells were not asked remains visible if configs and GPUs match. */
function isShownUnasked(page, cells) {
  return cells.some((cell) => refusedBy(page.selection, cell, placeOfCell(cell)) === 0);
}

function paintCell(page, row, column, keep) {
  const {grid} = page;
  const group = row * page.columns.values.length + column;
  const asked = grid.groups[group].filter((cell) => data.cells[cell] !== NEVER);
  const cells = grid.matching[group].length ? grid.matching[group] : asked;
  const key = `${keep} ${page.shows} ${cells.join()}`;
  if (grid.painted[group] === key) return;
  grid.painted[group] = key;
  const node = cellOf(grid, row, column);
  const verdicts = new Set(cells.map((cell) => answerOf(cell).v));
  const isMixed = verdicts.size > 1;
  node.className = `${isMixed ? mixClasses(cells) : classesOf(cells.length ? answerOf(cells[0]) : null)}${
      keep ? '' : ' faded'}`;
  if (isMixed)
    for (const word of ['yes', 'but'])
      node.style.setProperty(
          `--${word}-share`, cells.filter((cell) => answerOf(cell).v === word).length / cells.length);
  node.textContent = cells.length ? SHOWN[page.shows].words(cells, page) : '';
  node.ariaLabel = describeGroup(page, row, column, cells);
}

function mixClasses(cells) {
  return `tile mix${cells.every((cell) => isMet(answerOf(cell))) ? '' : ' unmet'}`;
}

/** "gpt2 on NVIDIA H200: yes" for a cell; "causal, H200: 7 of 9 yes, 2 no" for several. */
function describeGroup(page, row, column, cells) {
  const {groups} = page.grid;
  const all = groups[row * page.columns.values.length + column];
  if (all.length === 1) return describeCell(all[0], versionsShown(page).length > 1);
  const where = `${page.rows.values[row].name}, ${page.columns.values[column].name}`;
  return `${where}: ${cells.length ? countsText(cells) : 'not asked'}`;
}

/** "9 cells: 7 yes, 2 no" */
function countsText(cells) {
  const counts = new Map();
  for (const cell of cells) addTo(counts, answerOf(cell).v);
  const order = Object.keys(VERDICTS).filter((verdict) => counts.has(verdict));
  return `${counted(cells.length, 'cell')}: ${
      order.map((verdict) => `${counts.get(verdict)} ${wordsOf(verdict).toLowerCase()}`).join(', ')}`;
}

function paintSince(page, row, at) {
  const width = page.columns.values.length;
  const cells = page.grid.shown.flatMap((column) => page.grid.matching[at * width + column]);
  const yes = cells.filter((cell) => answerOf(cell).v === 'yes').length;
  const share = `${yes.toLocaleString('en')}/${cells.length.toLocaleString('en')}`;
  const since = row.cells[1];
  if (!hasSince(page)) {
    since.replaceChildren(element('b', {}, share));
    return;
  }
  const places = cells.map(placeOfCell);
  const firsts = places.map(({config, target}) => page.past.first[config * data.targets.length + target]);
  const known = firsts.filter((version) => version !== NEVER);
  since.replaceChildren(
      element('b', {}, sinceWords(known.length ? Math.min(...known) : NEVER)),
      element('small', {}, `${share} yes`));
  const configs = [...new Set(places.map(({config}) => config))],
        targets = [...new Set(places.map(({target}) => target))];
  since.title = sinceByGpu(page.past, configs, targets)
                    .map(({first, names}) => `${sinceWords(first)}: ${names.join(', ')}`)
                    .join('\n');
}

function showColumns(page, wanted) {
  const {grid, columns} = page;
  const shown = columns.values.flatMap((_, column) => (wanted[column] ? [column] : []));
  if (shown.join() === grid.shown.join()) return;
  const visible = new Set(shown);
  const changed = columns.values.flatMap(
      (_, column) => (grid.heads[column].hidden === visible.has(column) ? [column] : []));
  grid.shown = shown;
  for (const column of changed) {
    grid.heads[column].hidden = !visible.has(column);
    for (const row of grid.rows) row.cells[FIXED_COLUMNS + column].hidden = !visible.has(column);
  }
  byId('box').style.setProperty('--columns', shown.length);
  byId('box').classList.toggle('wide', shown.length <= 8);
  grid.familyRow.replaceChildren(
      element('td', {class: 'config'}), element('td', {class: 'since'}), ...familyHeads(page));
}

function familyHeads({grid, columns}) {
  const spans = [];
  for (const column of grid.shown) {
    const family = columns.values[column].family ?? '';
    if (spans.at(-1)?.family === family)
      spans.at(-1).width++;
    else
      spans.push({family, width: 1});
  }
  return spans.map(
      ({family, width}) => element('th', {scope: 'colgroup', colspan: width, title: family}, family));
}

/** Only one cell can be reached with Tab: the start for the arrow keys. */
function makeCurrent(grid, place) {
  if (grid.current) cellOf(grid, grid.current.row, grid.current.column).removeAttribute('tabindex');
  grid.current = place;
  if (place) cellOf(grid, place.row, place.column).tabIndex = 0;
}

function isShown(grid, {row, column}) { return !grid.rows[row].hidden && grid.shown.includes(column); }

function keepCurrent(grid) {
  if (grid.current && isShown(grid, grid.current)) return;
  const row = grid.rows.findIndex((one) => !one.hidden);
  makeCurrent(grid, row >= 0 && grid.shown.length ? {row, column: grid.shown[0]} : null);
}

function focusCell(grid, place) {
  makeCurrent(grid, place);
  cellOf(grid, place.row, place.column).focus();
}

/** The place of a cell in the grid. */
function placeInGrid({rows, columns}, cell) {
  const place = placeOfCell(cell);
  return {row: rows.indices[place[rows.of]], column: columns.indices[place[columns.of]]};
}

function placeOfNode(grid, node) {
  const cell = node.closest?.('td');
  const row = cell ? grid.rows.indexOf(cell.parentNode) : -1;
  const column = row >= 0 ? cell.cellIndex - FIXED_COLUMNS : -1;
  return column >= 0 ? {row, column} : null;
}

/** The cell that a key moves to; null: none. */
function placeAfter(grid, {key, ctrlKey}) {
  const {rows, shown, current} = grid;
  const visible = rows.flatMap((row, at) => (row.hidden ? [] : [at]));
  const page = Math.max(1, Math.floor(byId('box').clientHeight / rows[current.row].offsetHeight) - 3);
  const steps = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-page, 0],
    PageDown: [page, 0],
    Home: [ctrlKey ? -Infinity : 0, -Infinity],
    End: [ctrlKey ? Infinity : 0, Infinity]
  };
  if (!(key in steps)) return null;
  const [down, right] = steps[key];
  const move = (list, from, step) => list[Math.min(list.length - 1, Math.max(0, list.indexOf(from) + step))];
  return {row: move(visible, current.row, down), column: move(shown, current.column, right)};
}

/** Calls `open(place)` to open a cell of the grid. */
function listenToGrid(page, open) {
  const body = byId('grid').tBodies[0];
  body.addEventListener('click', ({target}) => {
    const place = placeOfNode(page.grid, target);
    if (!place) return;
    focusCell(page.grid, place);
    open(place);
  });
  body.addEventListener('keydown', (event) => {
    const {grid} = page;
    if (!placeOfNode(grid, event.target) || event.altKey || event.metaKey) return;
    const isOpening = event.key === 'Enter' || event.key === ' ';
    const place = isOpening ? grid.current : placeAfter(grid, event);
    if (!place) return;
    event.preventDefault();
    isOpening ? open(place) : focusCell(grid, place);
  });
  for (const type of ['mouseover', 'focusin'])
    body.addEventListener(type, ({target}) => readOut(page.grid, placeOfNode(page.grid, target)));
}

function readOut(grid, place) {
  grid.heads.forEach((head, column) => head.classList.toggle('pointed', column === place?.column));
  byId('readout').textContent = place ? cellOf(grid, place.row, place.column).ariaLabel : '';
}
