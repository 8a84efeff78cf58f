// The page as a whole: which version, filters and cell are shown, and its address that says so.

function start() {
  const columns = columnOrder();
  const past = readPast();
  const page = {version: data.cudnns.length - 1, opened: null, writing: 0};
  page.grid =
      buildGrid(columns, past, (config, target) => openCell(page, {config, target, version: page.version}));
  page.counts = data.cudnns.map((_, version) => countVersion(version));
  describePage();
  buildTheme();
  buildLegend();
  page.markVersion = buildVersions(page);
  page.refreshFilters = buildFilters(byId('filters'), columns, () => showMatches(page));
  listenToDialog(page);
  addEventListener('hashchange', () => takeFragment(page));
  takeFragment(page);
}

function showVersion(page, version) {
  page.version = version;
  paintVersion(page.grid, version);
  page.markVersion();
  showSummary(page);
  showMatches(page);
}

function showMatches(page) {
  const shown = filterGrid(page.grid);
  const {asked} = page.counts[page.version];
  page.refreshFilters();
  markSummary();
  byId('count').textContent =
      `${shown.configs.toLocaleString('en')} of ${counted(data.configs.length, 'config')}, ${
          shown.cells.toLocaleString('en')} of ${counted(asked, 'cell')}`;
  byId('grid').classList.toggle('empty', shown.configs === 0);
  byId('nothing').hidden = shown.configs > 0;
  if (shown.configs === 0) byId('nothing').replaceChildren(...nothingWords(page));
  clearTimeout(page.writing);
  page.writing = setTimeout(() => writeAddress(page), 150);
}

/** Nothing matches here; perhaps on another version. */
function nothingWords(page) {
  const matches = data.cudnns.map((_, version) => countMatches(page.grid, version));
  const elsewhere = [...matches.keys()].filter((version) => matches[version] > 0);
  const button = (words, click) => element('button', {type: 'button', click}, words);
  const versions = elsewhere.map((version) => {
    const words = `${data.cudnns[version].version}: ${counted(matches[version], 'cell')}`;
    return button(words, () => showVersion(page, version));
  });
  return [
    element('p', {}, `Nothing matches on cuDNN ${data.cudnns[page.version].version}.`),
    versions.length ? element('p', {}, 'On other versions: ', versions) : '',
    button('Reset the filters', () => byId('reset').click())
  ];
}

function openCell(page, place) {
  page.opened = place;
  if (place.version !== page.version) showVersion(page, place.version);
  showCell(place, (config, target, version) => openCell(page, {config, target, version}));
  writeAddress(page);
}

function listenToDialog(page) {
  const dialog = byId('cell');
  dialog.addEventListener('click', ({target}) => {
    if (target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    const {config, target} = page.opened;
    page.opened = null;
    writeAddress(page);
    const place = {config, column: page.grid.columns.indexOf(target)};
    if (isShown(page.grid, place)) focusCell(page.grid, place);
  });
}

function writeAddress(page) {
  const lists = filterLists();
  if (page.version !== data.cudnns.length - 1) lists.version = [data.cudnns[page.version].version];
  if (page.opened) lists.cell = cellNames(page.opened);
  writeFragment(lists);
}

function cellNames({config, target, version}) {
  return [data.configs[config].name, data.targets[target].id, data.cudnns[version].version];
}

function takeFragment(page) {
  const lists = readFragment();
  const place = placeNamed(lists.cell);
  const version = place?.version ?? versionIndex(lists.version?.[0]);
  takeFilters(lists);
  showVersion(page, version === NEVER ? data.cudnns.length - 1 : version);
  if (place)
    openCell(page, place);
  else if (byId('cell').open)
    byId('cell').close();
}

/** null where a name is missing or unknown. */
function placeNamed([config, target, version] = []) {
  const place = {
    config: data.configs.findIndex((one) => one.name === config),
    target: data.targets.findIndex((one) => one.id === target),
    version: versionIndex(version)
  };
  return Object.values(place).includes(NEVER) ? null : place;
}

function versionIndex(name) { return data.cudnns.findIndex(({version}) => version === name); }

start();
