// The page above the matrix: title, theme, legend, versions and summary.

const MOST_TABS = 12;

function describePage() {
  document.title = data.title;
  byId('title').textContent = data.title;
  const sizes = [
    counted(data.configs.length, 'config'), counted(data.targets.length, 'GPU'),
    counted(data.cudnns.length, 'cuDNN version')
  ];
  const command = data.command ? [': ', element('code', {}, data.command)] : [];
  byId('about').append(`${sizes.join(' × ')}, by ${data.tool}`, ...command);
}

/** A sample of every kind of cell on the page. */
function buildLegend() {
  const asked = new Set(data.cells);
  const answers = data.answers.filter((_, index) => asked.has(index));
  const verdicts = Object.keys(VERDICTS).filter((verdict) => answers.some((answer) => answer.v === verdict));
  const entries = verdicts.map(
      (verdict) => legendItem(classesOf({v: verdict}), shortOf(verdict), VERDICTS[verdict].means));
  if (answers.some((answer) => answer.v === 'yes' && answer.notes?.length))
    entries.push(legendItem('tile yes noted', '', 'a known bug or a version rule applies'));
  if (answers.some((answer) => !isMet(answer)))
    entries.push(legendItem('tile no unmet', '', 'not as expected'));
  if (asked.has(NEVER)) entries.push(legendItem('not-asked', '', 'not asked'));
  const mixed = legendItem('tile mix', '2/3', '2 of 3 cells are yes');
  mixed.id = 'legend-mix';
  byId('legend').append(...entries, mixed);
}

function legendItem(classes, symbol, words) {
  return element(
      'span', {class: 'legend-item'}, element('span', {class: `${classes} sample`}, symbol), words);
}

/** Controls for rows, columns, cells and saving. */
function buildView(page) {
  const choice = (id, title, options, change) => {
    const list = options.map(([value, words]) => element('option', {value}, words));
    return element(
        'label', {class: 'choice'}, title,
        element('select', {id, change: ({target}) => change(target.value)}, list));
  };
  const axes = page.axes.map(({name, title}) => [name, title]);
  const shows = shownChoices().map((name) => [name, SHOWN[name].title]);
  const save = (words, form) => element(
      'button', {
        type: 'button',
        id: `save-${form}`,
        title: `Saves the cells that are shown as ${words}`,
        click: () => saveShown(page, form)
      },
      words);
  byId('view').append(
      choice(
          'rows', 'Rows', axes,
          (name) => showAxes(page, name, page.columns.name === name ? page.rows.name : page.columns.name)),
      choice(
          'columns', 'Columns', axes,
          (name) => showAxes(page, page.rows.name === name ? page.columns.name : page.rows.name, name)),
      choice('shows', 'Cells show', shows, (name) => showIn(page, name)),
      element(
          'span', {class: 'saves'}, element('span', {class: 'muted'}, 'Save what is shown:'),
          save('CSV', 'csv'), save('JSON', 'json')));
}

/** On a phone the matrix comes before the tools, which are folded unless the address uses them. */
function foldTools() { byId('tools').open = !matchMedia('(max-width: 40rem)').matches || anyFilter(); }

function markView(page) {
  byId('rows').value = page.rows.name;
  byId('columns').value = page.columns.name;
  byId('shows').value = page.shows;
  byId('box').dataset.shows = page.shows;
  // If rows or columns are versions, no version can be selected.
  byId('versions').hidden = versionsShown(page).length > 1;
  const isGrouped = page.grid.groups.some((cells) => cells.length > 1);
  byId('legend-mix').hidden = !isGrouped;
  byId('box').classList.toggle('grouped', isGrouped);
}

function percent(share) { return `${Math.floor(share * 100)} %`; }

/** Tabs, or a select if there are too many; returns a function that marks the shown version. */
function buildVersions(page) {
  const box = byId('versions');
  box.className = 'versions';
  box.append(element('span', {id: 'versions-label'}, 'cuDNN'));
  return data.cudnns.length > MOST_TABS ? buildVersionSelect(page, box) : buildVersionTabs(page, box);
}

function buildVersionSelect(page, box) {
  const options = data.cudnns.map((_, at) => element('option', {value: at}));
  const select = element(
      'select', {
        id: 'version',
        'aria-labelledby': 'versions-label',
        change: () => showVersion(page, Number(select.value))
      },
      options);
  box.append(select);
  return () => {
    options.forEach((option, at) => {
      option.textContent = versionWords(page, at);
    });
    select.value = page.version;
  };
}

/** "9.19.0: 80 % of 120 cells are yes", counting cells that match the filters. */
function versionWords(page, at) {
  const {matching, yes} = countMatches(page.selection, at);
  return `${data.cudnns[at].version}: ${matching ? percent(yes / matching) : 'none'} of ${
      counted(matching, 'cell')} yes`;
}

function buildVersionTabs(page, box) {
  const tabs = data.cudnns.map(({version}, at) => versionTab(version, () => showVersion(page, at)));
  const list = element('div', {role: 'tablist', 'aria-labelledby': 'versions-label', class: 'tabs'}, tabs);
  list.addEventListener('keydown', (event) => walkTabs(page, tabs, event));
  box.append(list);
  byId('panel').role = 'tabpanel';
  byId('panel').ariaLabel = 'Matrix of this version';
  return () => tabs.forEach((tab, at) => markTab(page, tab, at));
}

function markTab(page, tab, at) {
  const isShown = at === page.version;
  const {matching, yes} = countMatches(page.selection, at);
  const share = matching ? yes / matching : 0;
  tab.querySelector('small').textContent = matching ? percent(share) : '–';
  tab.querySelector('.meter').style.setProperty('--share', share);
  tab.ariaLabel = tab.title = `cuDNN ${versionWords(page, at)}`;
  tab.ariaSelected = String(isShown);
  tab.tabIndex = isShown ? 0 : -1;
  if (isShown) requestAnimationFrame(() => tab.scrollIntoView({block: 'nearest', inline: 'nearest'}));
}

function versionTab(version, show) {
  const attributes = {type: 'button', role: 'tab', 'aria-controls': 'panel', click: show};
  return element(
      'button', attributes, element('b', {}, version), element('small', {}),
      element('span', {class: 'meter'}));
}

function walkTabs(page, tabs, event) {
  const last = tabs.length - 1;
  const to = {
    ArrowLeft: page.version === 0 ? last : page.version - 1,
    ArrowRight: page.version === last ? 0 : page.version + 1,
    Home: 0,
    End: last
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  tabs[to].click();
  tabs[to].focus();
}

/** The number of matching cells per answer: a bar, and buttons that show only those cells. */
function showSummary(page) {
  const {asked, matching, shown, verdict, unmet} = page.counts;
  const {sets, switches} = filters;
  const known = Object.keys(VERDICTS).filter((one) => verdict.has(one) || sets.verdict.has(one));
  const toggle = (name) => {
    if (!sets.verdict.delete(name)) sets.verdict.add(name);
    showMatches(page, true);
  };
  const buttons = known.map(
      (one) => summaryButton(
          verdict.get(one) ?? 0, wordsOf(one).toLowerCase(), sets.verdict.has(one),
          {'data-verdict': one, click: () => toggle(one)}));
  if (unmet || switches.unexpected)
    buttons.push(summaryButton(unmet, 'not as expected', switches.unexpected, {
      'data-switch': 'unexpected',
      click: () => {
        switches.unexpected = !switches.unexpected;
        showMatches(page, true);
      }
    }));
  byId('shares').replaceChildren(...[...shown].map(([one, count]) => sharePart(one, count)));
  const versions = versionsShown(page);
  const which = versions.length > 1 ? counted(versions.length, 'cuDNN version') :
                                      `cuDNN ${data.cudnns[page.version].version}`;
  const cells = matching === asked ? counted(asked, 'cell') :
                                     `${matching.toLocaleString('en')} of ${counted(asked, 'cell')}`;
  byId('summary').replaceChildren(element('span', {}, `${which}: ${cells}`), ...buttons);
}

function sharePart(verdict, count) {
  const part = element('span', {class: `tile ${verdict in VERDICTS ? verdict : 'error'}`});
  part.style.flexGrow = count;
  return part;
}

function summaryButton(count, words, isOn, attributes) {
  return element(
      'button', {
        type: 'button',
        class: 'summary-button',
        title: `Show only these: ${words}`,
        'aria-pressed': String(isOn),
        ...attributes
      },
      element('b', {}, count.toLocaleString('en')), ` ${words}`);
}
