// The page as a whole: what is shown and opened, and its address.

const USUAL = {
  rows: 'config',
  columns: 'gpu',
  shows: 'answer'
};

function start() {
  const order = columnOrder();
  const page = {
    version: data.cudnns.length - 1,
    opened: null,
    writing: 0,
    shows: USUAL.shows,
    axes: buildAxes(order),
    past: readPast(),
    haystacks: data.configs.map(haystackOf),
    answerFacts: factsOfAnswers()
  };
  page.rows = axisNamed(page, USUAL.rows);
  page.columns = axisNamed(page, USUAL.columns);
  page.selection = readSelection(page);
  describePage();
  buildTheme(() => writeAddress(page, false));
  buildLegend();
  buildView(page);
  buildNotes(page);
  page.markVersion = buildVersions(page);
  page.refreshFilters = buildFilters(byId('filters'), order, (isStep) => showMatches(page, isStep));
  listenToGrid(page, (place) => openPlace(page, place));
  listenToDialog(page);
  addEventListener('hashchange', () => takeFragment(page));
  takeFragment(page);
  foldTools();
  globalThis
      .attnprobe = {data, page, shownText: (form) => shownText(page, form)};  // for a console, and for tests
}

function showVersion(page, version) {
  page.version = version;
  page.grid.groups = groupCells(page);
  showMatches(page, true);
}

function showAxes(page, rows, columns) {
  showNamedAxes(page, rows, columns);
  showMatches(page, true);
}

function showIn(page, shows) {
  page.shows = shows;
  showMatches(page, true);
}

/**
 * Everything that depends on filters, version, rows and columns. A step is one that the browser's button
 * takes back.
 */
function showMatches(page, isStep) {
  page.selection = readSelection(page);
  page.counts = countCells(page, page.selection, versionsShown(page));
  paintGrid(page);
  markView(page);
  page.markVersion();
  showSummary(page);
  showNotes(page);
  page.refreshFilters(page.counts);
  const {configs, matching, asked} = page.counts;
  byId('count').textContent = `${configs.size.toLocaleString('en')} of ${
      counted(data.configs.length, 'config')}, ${matching.toLocaleString('en')} of ${counted(asked, 'cell')}`;
  const isEmpty = page.grid.rows.every((row) => row.hidden);
  byId('grid').classList.toggle('empty', isEmpty);
  byId('nothing').hidden = !isEmpty;
  if (isEmpty) byId('nothing').replaceChildren(...nothingWords(page));
  clearTimeout(page.writing);
  if (isStep)
    writeAddress(page, true);
  else
    page.writing = setTimeout(() => writeAddress(page, false), 150);
}

/** Nothing matches here, but another version may have matches. */
function nothingWords(page) {
  const button = (words, click) => element('button', {type: 'button', click}, words);
  const versions = versionsShown(page).length > 1 ? [] : data.cudnns.flatMap((cudnn, version) => {
    const {matching} = countMatches(page.selection, version);
    const words = `${cudnn.version}: ${counted(matching, 'cell')}`;
    return matching ? [button(words, () => showVersion(page, version))] : [];
  });
  return [
    element(
        'p', {},
        versionsShown(page).length > 1 ? 'Nothing matches.' :
                                         `Nothing matches on cuDNN ${data.cudnns[page.version].version}.`),
    versions.length ? element('p', {}, 'On other versions: ', versions) : '',
    button('Reset the filters', () => byId('reset').click())
  ];
}

// ---- the opened cell: {cell}, or {group}, a place of the grid with several cells

function openPlace(page, place) {
  const cells = page.grid.groups[place.row * page.columns.values.length + place.column];
  if (cells.length === 1)
    openCell(page, cells[0]);
  else
    openGroup(page, place);
}

function openCell(page, cell, isStep = true) {
  const {version} = placeOfCell(cell);
  page.opened = {cell};
  if (versionsShown(page).length === 1 && version !== page.version) {
    page.version = version;
    page.grid.groups = groupCells(page);
    showMatches(page, false);
  }
  showCell(page, cell, (other) => openCell(page, other, false));
  writeAddress(page, isStep);
}

function openGroup(page, place, isStep = true) {
  page.opened = {group: place};
  showGroup(page, place, (cell) => openCell(page, cell, false));
  writeAddress(page, isStep);
}

function listenToDialog(page) {
  const dialog = byId('cell');
  dialog.addEventListener('click', ({target}) => {
    if (target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    if (!page.opened) return;  // no longer in the address
    const {cell, group} = page.opened;
    page.opened = null;
    // Undoes the step that opened it; otherwise two steps would lead to the same view.
    if (history.state?.from === fragmentOf(addressLists(page)))
      history.back();
    else
      writeAddress(page, false);
    const place = group ?? placeInGrid(page, cell);
    if (isShown(page.grid, place)) focusCell(page.grid, place);
  });
}

// ---- the address

function addressLists(page) {
  const lists = {};
  if (page.version !== data.cudnns.length - 1) lists.version = [data.cudnns[page.version].version];
  if (page.rows.name !== USUAL.rows) lists.rows = [page.rows.name];
  if (page.columns.name !== USUAL.columns) lists.columns = [page.columns.name];
  if (page.shows !== USUAL.shows) lists.shows = [page.shows];
  Object.assign(lists, filterLists());
  if (theme.named) lists.theme = [theme.named];
  return lists;
}

function writeAddress(page, isStep) {
  if (page.isTaking) return;
  const lists = addressLists(page);
  const from = fragmentOf(lists);
  if (page.opened?.cell !== undefined) lists.cell = cellNames(page.opened.cell);
  if (page.opened?.group) lists.group = groupNames(page, page.opened.group);
  writeFragment(fragmentOf(lists), isStep, page.opened ? {from} : null);
}

function cellNames(cell) {
  const {config, target, version} = placeOfCell(cell);
  return [data.configs[config].name, data.targets[target].id, data.cudnns[version].version];
}

function groupNames({rows, columns}, {row, column}) {
  return [rows.values[row].name, columns.values[column].name];
}

/** Shows the view in the address, without adding a step. */
function takeFragment(page) {
  page.isTaking = true;
  const lists = readFragment();
  const cell = cellNamed(lists.cell);
  const version = cell === null ? versionIndex(lists.version?.[0]) : placeOfCell(cell).version;
  nameTheme(lists.theme?.[0] ?? null);
  takeFilters(lists);
  page.version = version === NEVER ? data.cudnns.length - 1 : version;
  const shows = lists.shows?.[0];
  page.shows = shownChoices().includes(shows) ? shows : USUAL.shows;
  const rows = lists.rows?.[0] ?? USUAL.rows, columns = lists.columns?.[0] ?? USUAL.columns;
  showNamedAxes(page, rows, columns);
  showMatches(page, false);
  clearTimeout(page.writing);
  const group = groupNamed(page, lists.group);
  if (cell !== null) {
    openCell(page, cell, false);
  } else if (group) {
    openGroup(page, group, false);
  } else {
    page.opened = null;
    if (byId('cell').open) byId('cell').close();
  }
  page.isTaking = false;
}

/** Keeps what is already drawn; only its cells may change. */
function showNamedAxes(page, rowsName, columnsName) {
  const rows = axisNamed(page, rowsName) ?? axisNamed(page, USUAL.rows);
  const named = axisNamed(page, columnsName) ?? axisNamed(page, USUAL.columns);
  const columns = named === rows ? page.axes.find((axis) => axis !== rows) : named;
  if (page.grid && rows === page.rows && columns === page.columns) {
    page.grid.groups = groupCells(page);
    return;
  }
  page.rows = rows;
  page.columns = columns;
  drawGrid(page);
}

/** null if a name is missing or unknown. */
function cellNamed([config, target, version] = []) {
  const place = {
    config: data.configs.findIndex((one) => one.name === config),
    target: data.targets.findIndex((one) => one.id === target),
    version: versionIndex(version)
  };
  return Object.values(place).includes(NEVER) ? null : cellIndex(place.version, place.config, place.target);
}

function groupNamed({rows, columns}, [row, column] = []) {
  const place = {
    row: rows.values.findIndex(({name}) => name === row),
    column: columns.values.findIndex(({name}) => name === column)
  };
  return Object.values(place).includes(NEVER) ? null : place;
}

function versionIndex(name) { return data.cudnns.findIndex(({version}) => version === name); }

start();
