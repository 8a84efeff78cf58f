// The matrix as a picture: configs × GPUs of one cuDNN version, a grid that the keyboard walks.

const FIXED_COLUMNS = 2;  // the config and the version that it is supported since

/** All cells are made once and painted for each version. `open(config, target)` is called to see one. */
function buildGrid(columns, past, open) {
  const table = byId('grid');
  const body = table.tBodies[0];
  const gpuCells = columns.map((target) => gpuHeader(data.targets[target]));
  const familyRow = element('tr', {class: 'families'});
  const since = element('th', {scope: 'col', class: 'since'}, 'Since');
  since.title = 'The first cuDNN version here that supports it on any of the shown GPUs';
  const config = element('th', {scope: 'col', class: 'config'}, 'Config');
  table.tHead.append(familyRow, element('tr', {class: 'gpus'}, config, since, gpuCells));
  const rows = data.configs.map((config) => configRow(config, columns.length));
  body.append(...rows);
  const haystacks = data.configs.map(haystackOf);
  const state = {version: 0, shown: [], current: null};
  const grid = {body, rows, haystacks, columns, past, familyRow, gpuCells, ...state};
  showColumns(grid, () => true);
  listenToGrid(grid, open);
  return grid;
}

function gpuHeader(target) {
  const name = target.name.replace(/^NVIDIA (GeForce )?/, '');
  return element(
      'th', {scope: 'col', class: 'gpu', title: `${target.name}, sm_${target.sm}, ${target.kind}`},
      element(
          'span', {class: 'gpu-name'}, element('b', {}, name),
          element('small', {}, `sm_${target.sm}${target.kind === 'device' ? ', real' : ''}`)));
}

function configRow(config, width) {
  const row = element(
      'tr', {},
      element(
          'th', {scope: 'row', class: 'config', title: `${config.name}\n${config.summary}`},
          element('b', {}, config.name), element('small', {}, config.summary)),
      element('td', {class: 'since'}));
  for (let column = 0; column < width; column++) row.append(document.createElement('td'));
  return row;
}

function cellOf(grid, config, column) { return grid.rows[config].cells[FIXED_COLUMNS + column]; }

function paintVersion(grid, version) {
  grid.version = version;
  grid.rows.forEach((row, config) => {
    grid.columns.forEach((target, column) => {
      const answer = answerAt(version, config, target);
      const cell = row.cells[FIXED_COLUMNS + column];
      cell.className = classesOf(answer);
      cell.textContent = symbolOf(answer);
      cell.ariaLabel = describeCell(version, config, target);
    });
  });
  paintSince(grid);
}

/** Beside each config: the first version that supports it on any shown GPU; on how many this one does. */
function paintSince(grid) {
  grid.rows.forEach((row, config) => {
    const targets = grid.shown.map((column) => grid.columns[column]);
    const now = targets.filter((target) => isTaken(answerAt(grid.version, config, target))).length;
    row.cells[1].replaceChildren(
        element('b', {}, sinceWords(firstSupport(grid.past, config, targets))),
        element('small', {}, `${now}/${counted(targets.length, 'GPU')}`));
  });
}

/** Index of a version, or NEVER. */
function firstSupport(past, config, targets) {
  const versions = targets.map((target) => past.first[config * data.targets.length + target])
                       .filter((version) => version !== NEVER);
  return versions.length ? Math.min(...versions) : NEVER;
}

/** Of the oldest version here nobody knows whether it was the first. */
function sinceWords(version) {
  if (version === NEVER) return 'none';
  return `${version === 0 ? '≤ ' : ''}${data.cudnns[version].version}`;
}

function showColumns(grid, isWanted) {
  const shown = grid.columns.flatMap((target, column) => (isWanted(data.targets[target]) ? [column] : []));
  if (shown.join() === grid.shown.join()) return;
  grid.shown = shown;
  const visible = new Set(shown);
  grid.gpuCells.forEach((cell, column) => {
    cell.hidden = !visible.has(column);
  });
  for (const row of grid.rows)
    grid.columns.forEach((_, column) => {
      row.cells[FIXED_COLUMNS + column].hidden = !visible.has(column);
    });
  byId('box').style.setProperty('--columns', shown.length);
  byId('box').classList.toggle('wide', shown.length <= 8);
  grid.familyRow.replaceChildren(
      element('td', {class: 'config'}), element('td', {class: 'since'}), ...familyHeaders(grid));
  paintSince(grid);
}

function familyHeaders(grid) {
  const spans = [];
  for (const column of grid.shown) {
    const {family} = data.targets[grid.columns[column]];
    if (spans.at(-1)?.family === family)
      spans.at(-1).width++;
    else
      spans.push({family, width: 1});
  }
  return spans.map(
      ({family, width}) => element('th', {scope: 'colgroup', colspan: width, title: family}, family));
}

/** Shows the rows with a match and fades what does not match in them; returns the number of each. */
function filterGrid(grid) {
  showColumns(grid, (target) => allows(filters.sets.gpu, target.id));
  const isConfig = configTest();
  const isAnswer = answerTest(grid.past);
  const keepUnasked = !filtersAnswers();
  const shown = {configs: 0, cells: 0};
  grid.rows.forEach((row, config) => {
    const matches = isConfig(data.configs[config], grid.haystacks[config]) ?
        fadeCells(grid, row, config, isAnswer, keepUnasked) :
        null;
    row.hidden = !matches || matches.kept === 0;
    if (row.hidden) return;
    shown.configs++;
    shown.cells += matches.asked;
  });
  keepCurrent(grid);
  return shown;
}

function fadeCells(grid, row, config, isAnswer, keepUnasked) {
  const matches = {kept: 0, asked: 0};
  for (const column of grid.shown) {
    const target = grid.columns[column];
    const answer = answerAt(grid.version, config, target);
    const keep = answer ? isAnswer(answer, config, target) : keepUnasked;
    row.cells[FIXED_COLUMNS + column].classList.toggle('faded', !keep);
    if (keep) matches.kept++;
    if (keep && answer) matches.asked++;
  }
  return matches;
}

/** How many cells a version has that match the filters. */
function countMatches(grid, version) {
  const isConfig = configTest();
  const isAnswer = answerTest(grid.past);
  let matches = 0;
  data.configs.forEach((config, at) => {
    if (!isConfig(config, grid.haystacks[at])) return;
    for (const column of grid.shown) {
      const target = grid.columns[column];
      const answer = answerAt(version, at, target);
      if (answer && isAnswer(answer, at, target)) matches++;
    }
  });
  return matches;
}

/** One cell can be reached by Tab, the one that the arrow keys walk from. */
function makeCurrent(grid, place) {
  if (grid.current) cellOf(grid, grid.current.config, grid.current.column).removeAttribute('tabindex');
  grid.current = place;
  if (place) cellOf(grid, place.config, place.column).tabIndex = 0;
}

function isShown(grid, {config, column}) { return !grid.rows[config].hidden && grid.shown.includes(column); }

function keepCurrent(grid) {
  if (grid.current && isShown(grid, grid.current)) return;
  const config = grid.rows.findIndex((row) => !row.hidden);
  makeCurrent(grid, config >= 0 && grid.shown.length ? {config, column: grid.shown[0]} : null);
}

function focusCell(grid, place) {
  makeCurrent(grid, place);
  cellOf(grid, place.config, place.column).focus();
}

function placeOf(grid, node) {
  const cell = node.closest?.('td');
  const config = cell ? grid.rows.indexOf(cell.parentNode) : -1;
  const column = config >= 0 ? cell.cellIndex - FIXED_COLUMNS : -1;
  return column >= 0 ? {config, column} : null;
}

/** Where a key leads from a cell; null: nowhere. */
function placeAfter(grid, {key, ctrlKey}) {
  const {rows, shown, current} = grid;
  const visible = rows.flatMap((row, config) => (row.hidden ? [] : [config]));
  const page = Math.max(1, Math.floor(byId('box').clientHeight / rows[current.config].offsetHeight) - 3);
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
  return {config: move(visible, current.config, down), column: move(shown, current.column, right)};
}

function listenToGrid(grid, open) {
  const openAt = ({config, column}) => open(config, grid.columns[column]);
  grid.body.addEventListener('click', ({target}) => {
    const place = placeOf(grid, target);
    if (!place) return;
    focusCell(grid, place);
    openAt(place);
  });
  grid.body.addEventListener('keydown', (event) => {
    if (!placeOf(grid, event.target) || event.altKey || event.metaKey) return;
    const isOpening = event.key === 'Enter' || event.key === ' ';
    const place = isOpening ? grid.current : placeAfter(grid, event);
    if (!place) return;
    event.preventDefault();
    isOpening ? openAt(place) : focusCell(grid, place);
  });
  for (const type of ['mouseover', 'focusin'])
    grid.body.addEventListener(type, ({target}) => readOut(grid, placeOf(grid, target)));
}

function readOut(grid, place) {
  grid.gpuCells.forEach((cell, column) => cell.classList.toggle('pointed', column === place?.column));
  byId('readout').textContent =
      place ? describeCell(grid.version, place.config, grid.columns[place.column]) : '';
}
