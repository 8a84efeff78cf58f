// One cell, opened: what cuDNN answered, why, with which engine configs, and how to ask again.

/** Fills and shows the dialog. `open(config, target, version)` opens another cell. */
function showCell(place, open) {
  const dialog = byId('cell');
  const isFromStrip = document.activeElement.closest('.strip') !== null;
  const view = {
    ...place,
    config: data.configs[place.config],
    target: data.targets[place.target],
    answer: answerAt(place.version, place.config, place.target)
  };
  dialog.replaceChildren(
      cellHeader(view, dialog), element('div', {class: 'cell-body'}, cellSections(view, place, open)));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  (isFromStrip ? dialog.querySelector('.strip [aria-current]') : byId('cell-title')).focus();
}

function cellSections(view, place, open) {
  const {answer} = view;
  const byVersion = data.cudnns.length > 1 ? versionsSection(place, open) : null;
  if (!answer)
    return [
      element('p', {}, 'This cell was not asked.'), byVersion, reproduceSection(view), configSection(view)
    ];
  return [
    obstacleSection(answer), frameworkSection(answer), causeSection(answer), adviceSection(answer), notesSection(answer), reproduceSection(view), byVersion,
    enginesSection(answer), modesSection(answer), graphSection(answer), configSection(view)
  ];
}

function section(title, ...content) { return element('section', {}, element('h3', {}, title), content); }

function cellHeader(view, dialog) {
  const {config, target, answer, version} = view;
  const milliseconds =
      data.milliseconds?.[cellIndex(version, data.configs.indexOf(config), data.targets.indexOf(target))];
  const facts = [
    target.name, `sm_${target.sm}`, target.kind === 'device' ? 'real GPU' : 'simulated',
    `cuDNN ${data.cudnns[version].version}`
  ];
  if (Number.isFinite(milliseconds)) facts.push(`answered in ${shortNumber(milliseconds)} ms`);
  return element(
      'header', {class: 'cell-header'},
      element(
          'div', {}, element('h2', {id: 'cell-title', tabindex: '-1'}, config.name),
          element('p', {class: 'muted'}, facts.join(' · ')), answer ? verdictLine(answer) : null),
      element(
          'button', {
            type: 'button',
            class: 'close',
            'aria-label': 'Close',
            title: 'Close (Escape)',
            click: () => dialog.close()
          },
          '×'));
}

function verdictLine(answer) {
  const words = isTaken(answer) ?
      `${wordsOf(answer.v)}: ${answer.n} of ${counted(answer.c, 'candidate engine config')}` :
      wordsOf(answer.v);
  const expected = answer.expect ? ` (expected: ${answer.expect})` : '';
  return element(
      'p', {class: 'verdict-line'}, element('span', {class: `badge ${classesOf(answer)}`}, words),
      element(
          'span', {class: isMet(answer) ? 'muted' : 'unexpected'},
          `${isMet(answer) ? 'As expected' : 'Not as expected'}${expected}`));
}

function causeSection(answer) {
  const reason = textAt(answer.reason);
  const explanation = textAt(answer.explanation);
  if (!answer.category && !answer.status && !reason && !explanation) return null;
  return section(
      'Root cause',
      element(
          'p', {}, answer.category ? element('b', {}, answer.category) : null,
          answer.category && answer.status ? ' · ' : null,
          answer.status ? element('code', {}, answer.status) : null),
      reason ? [element('h4', {}, 'cuDNN says'), element('blockquote', {}, reason)] : null,
      explanation ? [element('h4', {}, 'In plain words'), element('p', {}, explanation)] : null);
}

function obstacleSection({but = []}) {
  if (!but.length) return null;
  const items = but.map(([text, source]) => element('li', {}, textAt(text), ' ', element('small', {class: 'muted'}, textAt(source))));
  return section('What stands in the way', element('ul', {}, items));
}

/** What frameworks do before cuDNN sees it, with what gets around it, by their rules. */
function frameworkSection({frameworks = []}) {
  if (!frameworks.length) return null;
  const items = frameworks.map(({text, instead, changes, notes}) => {
    const more = [...changes.map((index) => `What helps: ${textAt(index)}`), ...notes.map(textAt)];
    const then = textAt(instead);
    return element(
        'li', {}, textAt(text), then ? `; ${then}` : null,
        more.length ? element('ul', {}, more.map((words) => element('li', {}, words))) : null);
  });
  return section('Frameworks', element('ul', {}, items));
}

function adviceSection({advice = []}) {
  return advice.length ?
      section('What helps', element('ul', {}, advice.map((index) => adviceItem(textAt(index))))) :
      null;
}

/** The lines after the first of an advice are the command that it was probed with. */
function adviceItem(advice) {
  const [words, ...command] = advice.split('\n');
  return element('li', {}, words, command.length ? commandBox(command.join('\n')) : null);
}

function notesSection({notes = [], frontend = NEVER, from = NEVER}) {
  const refusal = textAt(frontend), first = textAt(from);
  if (!notes.length && !refusal && !first) return null;
  const items = notes.map((index) => [textAt(index)]);
  if (first) items.push([`It works ${first}.`]);
  if (refusal)
    items.unshift(
        ['cudnn-frontend refuses it before it asks cuDNN: ', element('q', {class: 'words'}, refusal)]);
  return section(
      'Versions and known bugs', element('ul', {}, items.map((item) => element('li', {}, item))));
}

/** No command: a graph was asked about that no config builds. */
function reproduceSection({config, target, version}) {
  if (!config.command) return null;
  const cudnn = data.cudnns[version];
  return section(
      'Reproduce',
      commandBox(
          `${config.command} --target ${target.word || target.id} --cudnn ${cudnn.word || cudnn.version}`));
}

/** Its words stay whole: a line does not end inside of "--target". */
function commandBox(command) {
  const words = command.split(' ').flatMap((word) => [' ', element('span', {}, word)]);
  const code = element('code', {}, words.slice(1));
  const button =
      element('button', {type: 'button', class: 'copy', click: () => copyText(code, button)}, 'Copy');
  return element('div', {class: 'command'}, code, button);
}

/** Where the clipboard may not be written, the text is selected instead. */
async function copyText(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = 'Selected: press Ctrl+C';
  }
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 2000);
}

/** The verdict by version: on this GPU, and behind a fold on the others. */
function versionsSection(place, open) {
  const others = columnOrder().filter((target) => target !== place.target);
  return section(
      'By cuDNN version', versionsTable(place, [place.target], open),
      others.length ?
          element(
              'details', {}, element('summary', {}, `On the other ${counted(others.length, 'GPU')}`),
              versionsTable(place, others, open)) :
          null);
}

function versionsTable(place, targets, open) {
  const heads = data.cudnns.map(({version}) => element('th', {scope: 'col'}, version));
  const rows = targets.map(
      (target) => element(
          'tr', {}, element('th', {scope: 'row'}, data.targets[target].name),
          data.cudnns.map((_, version) => element('td', {}, stripButton(place, target, version, open)))));
  return element(
      'div', {class: 'scroll'},
      element(
          'table', {class: 'strip'}, element('thead', {}, element('tr', {}, element('td'), heads)),
          element('tbody', {}, rows)));
}

function stripButton(place, target, version, open) {
  const answer = answerAt(version, place.config, target);
  const isHere = target === place.target && version === place.version;
  const label =
      `${data.targets[target].name}, cuDNN ${data.cudnns[version].version}: ${describeAnswer(answer)}`;
  return element(
      'button', {
        type: 'button',
        class: classesOf(answer),
        'aria-label': label,
        title: label,
        'aria-current': isHere ? 'true' : null,
        click: () => open(place.config, target, version)
      },
      symbolOf(answer));
}

// Columns of the engine table; one that no row has anything for is left out.
const ENGINE_COLUMNS = [
  {title: 'Engine', of: (row) => String(row.e)},
  {title: 'Knobs', of: (row) => row.k, className: 'knobs'},
  {title: 'Proposed by', of: (row) => row.m},
  {title: 'Support check', of: checkWords, className: 'check'},
  {
    title: 'Workspace',
    of: (row) => (row.ws === null || row.ws === undefined ? '' : bytes(row.ws)),
    className: 'number'
  },
  {title: 'Plan', of: planWords},
  {
    title: 'Run',
    of: (row) => (row.run && row.run !== 'ok' ? element('b', {class: 'unexpected'}, row.run) : row.run ?? '')
  },
  {
    title: 'Time',
    of: (row, slowest) => (Number.isFinite(row.ms) ? timeBar(row, slowest) : ''),
    className: 'time'
  },
];

function enginesSection(answer) {
  const rows = (answer.engines ?? []).map((index) => data.engines[index]);
  if (!rows.length) return null;
  const slowest = Math.max(0, ...rows.map((row) => row.ms ?? 0));
  const contents = rows.map((row) => ENGINE_COLUMNS.map((column) => column.of(row, slowest)));
  const used =
      ENGINE_COLUMNS.flatMap((_, at) => (contents.some((content) => content[at] !== '') ? [at] : []));
  const heads = used.map((at) => element('th', {scope: 'col'}, ENGINE_COLUMNS[at].title));
  const lines = rows.map(
      (row, at) => element('tr', {class: row.ok ? 'viable' : 'refused'}, engineCells(contents[at], used)));
  return section('Engine configs', plainTable(heads, lines));
}

/** The last cell with something in it takes the room of the empty ones after it. */
function engineCells(content, used) {
  const last = used.findLastIndex((at) => content[at] !== '');
  return used.slice(0, last + 1)
      .map(
          (at, place) => element(
              'td', {
                class: ENGINE_COLUMNS[at].className ?? null,
                colspan: place === last ? used.length - last : null
              },
              content[at]));
}

function plainTable(heads, lines) {
  return element(
      'div', {class: 'scroll'},
      element(
          'table', {class: 'plain'}, element('thead', {}, element('tr', {}, heads)),
          element('tbody', {}, lines)));
}

function checkWords(row) { return row.ok ? '✓ passes' : ['× ', breakable(row.s), reasonWords(row)]; }

/** What passes the check and does not compile has its status and reason here. */
function planWords(row) {
  if (row.plan !== 'failed') return row.plan ?? '';
  return [element('b', {class: 'unexpected'}, 'failed: '), breakable(row.s), reasonWords(row)];
}

function reasonWords(row) {
  const reason = textAt(row.r);
  return reason ? element('q', {class: 'words'}, reason) : '';
}

/** A long name of cuDNN's that may go on in another line after an underscore. */
function breakable(name) { return name.split(/(?<=_)/).flatMap((part) => [part, element('wbr')]); }

function timeBar(row, slowest) {
  const bar = element('span', {class: 'bar'});
  bar.style.setProperty('--share', row.ms / slowest);
  const facts = [];
  for (const {key, unit} of data.measurements)
    if (key !== 'ms' && Number.isFinite(row[key])) facts.push(`${shortNumber(row[key])} ${unit}`);
  return [bar, element('b', {}, `${shortNumber(row.ms)} ms`), element('small', {}, facts.join(' · '))];
}

function shortNumber(value) { return value.toLocaleString('en', {maximumSignificantDigits: 3}); }

function bytes(count) {
  if (count < 1024) return `${count} B`;
  const steps = Math.min(3, Math.floor(Math.log2(count) / 10));
  return `${shortNumber(count / 1024 ** steps)} ${['B', 'KiB', 'MiB', 'GiB'][steps]}`;
}

function modesSection({modes = []}) {
  if (!modes.length) return null;
  const heads =
      ['Mode', 'Candidates', 'Viable', 'Status'].map((title) => element('th', {scope: 'col'}, title));
  const lines = modes.map(
      ([mode, candidates, viable, status]) => element(
          'tr', {}, element('td', {}, mode), element('td', {class: 'number'}, String(candidates)),
          element('td', {class: 'number'}, String(viable)), element('td', {}, element('code', {}, status))));
  return section('Heuristic modes', plainTable(heads, lines));
}

function graphSection(answer) {
  const choice = textAt(answer.choice);
  if (!answer.pattern && !answer.hash && !choice) return null;
  return section('Graph', factList([['Pattern', answer.pattern], ['Choice', choice], ['Hash', answer.hash]]));
}

function configSection({config}) {
  return section(
      'Config',
      factList([['Summary', config.summary], ['Source', config.source ? linked(config.source) : '']]),
      config.fields ? element(
                          'details', {}, element('summary', {}, 'As JSON'),
                          element('pre', {}, JSON.stringify(config.fields, null, 2))) :
                      null);
}

function factList(facts) {
  return element(
      'dl', {},
      facts.filter(([, value]) => value && value.length !== 0)
          .map(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

/** A text with its web addresses as links. */
function linked(text) {
  return text.split(/(https?:\/\/[^\s,;)]+)/)
      .map((part, at) => (at % 2 ? element('a', {href: part, rel: 'noopener noreferrer'}, part) : part));
}
