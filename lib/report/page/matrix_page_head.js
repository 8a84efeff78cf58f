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

/** Storage may be forbidden; then the choice lasts as long as the page. */
function buildTheme() {
  const button = byId('theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () =>
      (document.documentElement.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark';
  const show = () => {
    button.textContent = isDark() ? 'Light theme' : 'Dark theme';
  };
  const stored = withStorage((storage) => storage.getItem('attnprobe-theme'));
  if (stored) document.documentElement.dataset.theme = stored;
  button.addEventListener('click', () => {
    const theme = isDark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = theme;
    withStorage((storage) => storage.setItem('attnprobe-theme', theme));
    show();
  });
  system.addEventListener('change', show);
  show();
}

function withStorage(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

const LEGEND = {
  yes: 'yes: n engine configs work',
  but: 'but: cuDNN takes it, and something stands in the way',
};

/** A sample of every kind of cell that the page has. */
function buildLegend() {
  const asked = new Set(data.cells);
  const answers = data.answers.filter((_, index) => asked.has(index));
  const verdicts = Object.keys(VERDICTS).filter((verdict) => answers.some((answer) => answer.v === verdict));
  const entries = verdicts.map((verdict) => legendItem({v: verdict, n: 'n'}, null, LEGEND[verdict] ?? wordsOf(verdict).toLowerCase()));
  if (answers.some((answer) => !isMet(answer)))
    entries.push(legendItem({v: 'no', met: false}, '', 'not as expected'));
  if (asked.has(NEVER)) entries.push(legendItem(null, null, 'not asked'));
  entries.push(element('span', {class: 'legend-item'}, '≤: or older'));
  byId('legend').append(...entries);
}

function legendItem(answer, symbol, words) {
  const tile = element('span', {class: `${classesOf(answer)} sample`}, symbol ?? symbolOf(answer));
  return words ? element('span', {class: 'legend-item'}, tile, words) : tile;
}

function takenShare({asked, verdicts}) {
  return asked ? ((verdicts.get('yes') ?? 0) + (verdicts.get('but') ?? 0)) / asked : 0;
}

function percent(share) { return `${Math.floor(share * 100)} %`; }

/** Tabs, or a select where they would be too many; returns what marks the version that is shown. */
function buildVersions(page) {
  const box = byId('versions');
  box.className = 'versions';
  box.append(element('span', {id: 'versions-label'}, 'cuDNN'));
  return data.cudnns.length > MOST_TABS ? buildVersionSelect(page, box) : buildVersionTabs(page, box);
}

function buildVersionSelect(page, box) {
  const options = data.cudnns.map(
      ({version}, at) => element(
          'option', {value: at}, `${version}: ${percent(takenShare(page.counts[at]))} yes or but`));
  const select = element(
      'select', {
        id: 'version',
        'aria-labelledby': 'versions-label',
        change: () => showVersion(page, Number(select.value))
      },
      options);
  box.append(select);
  return () => {
    select.value = page.version;
  };
}

function buildVersionTabs(page, box) {
  const tabs = data.cudnns.map(
      ({version}, at) => versionTab(version, takenShare(page.counts[at]), () => showVersion(page, at)));
  const list = element('div', {role: 'tablist', 'aria-labelledby': 'versions-label', class: 'tabs'}, tabs);
  list.addEventListener('keydown', (event) => walkTabs(page, tabs, event));
  box.append(list);
  byId('panel').role = 'tabpanel';
  byId('panel').ariaLabel = 'Matrix of this version';
  return () => tabs.forEach((tab, at) => markTab(tab, at === page.version));
}

function markTab(tab, isShown) {
  tab.ariaSelected = String(isShown);
  tab.tabIndex = isShown ? 0 : -1;
  if (isShown) requestAnimationFrame(() => tab.scrollIntoView({block: 'nearest', inline: 'nearest'}));
}

function versionTab(version, share, show) {
  const meter = element('span', {class: 'meter'});
  meter.style.setProperty('--share', share);
  const label = `cuDNN ${version}, ${percent(share)} of its cells are yes or but`;
  const attributes =
      {type: 'button', role: 'tab', 'aria-controls': 'panel', 'aria-label': label, title: label};
  return element(
      'button', {...attributes, click: show}, element('b', {}, version), element('small', {}, percent(share)),
      meter);
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

/** How many cells of this version have each verdict: a bar, and buttons that show only those. */
function showSummary(page) {
  const {asked, unmet, verdicts} = page.counts[page.version];
  const known =
      [...new Set([...Object.keys(VERDICTS), ...verdicts.keys()])].filter((verdict) => verdicts.has(verdict));
  const toggle = (set, name) => {
    if (!set.delete(name)) set.add(name);
    showMatches(page);
  };
  const buttons = known.map(
      (verdict) => summaryButton(
          verdicts.get(verdict), wordsOf(verdict).toLowerCase(),
          {'data-verdict': verdict, click: () => toggle(filters.sets.verdict, verdict)}));
  const unexpected = summaryButton(unmet, 'not as expected', {
    'data-switch': 'unexpected',
    click: () => {
      filters.switches.unexpected = !filters.switches.unexpected;
      showMatches(page);
    }
  });
  byId('shares').replaceChildren(...known.map((verdict) => sharePart(verdict, verdicts.get(verdict))));
  byId('summary').replaceChildren(
      element('span', {}, `cuDNN ${data.cudnns[page.version].version}: ${counted(asked, 'cell')} asked`),
      ...buttons, unexpected);
}

function sharePart(verdict, count) {
  const part = element('span', {class: classesOf({v: verdict, n: 3})});
  part.style.flexGrow = count;
  return part;
}

function summaryButton(count, words, attributes) {
  return element(
      'button', {type: 'button', class: 'summary-button', title: `Show only these: ${words}`, ...attributes},
      element('b', {}, count.toLocaleString('en')), ` ${words}`);
}

function markSummary() {
  for (const button of byId('summary').querySelectorAll('button')) {
    const {verdict} = button.dataset;
    button.ariaPressed = String(verdict ? filters.sets.verdict.has(verdict) : filters.switches.unexpected);
  }
}
