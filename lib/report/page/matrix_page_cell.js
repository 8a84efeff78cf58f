// One cell, opened: cuDNN's answer, its reason and engine configs, and how to ask again.

/** Fills and shows the dialog. `open(cell)` opens another cell. */
function showCell(page, cell, open) {
  const dialog = byId('cell');
  const isFromStrip = document.activeElement.closest('.strip') !== null;
  const place = placeOfCell(cell);
  const view = {
    ...place,
    cell,
    at: place.config,
    config: data.configs[place.config],
    target: data.targets[place.target],
    answer: answerOf(cell)
  };
  dialog.replaceChildren(
      cellHeader(view, dialog), element('div', {class: 'cell-body'}, cellSections(page, view, place, open)));
  openDialog(dialog);
  if (isFromStrip) dialog.querySelector('.strip [aria-current]')?.focus();
}

function openDialog(dialog) {
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  byId('cell-title').focus();
}

function cellSections(page, view, place, open) {
  const {answer} = view;
  const byVersion = data.cudnns.length > 1 ? versionsSection(page, place, open) : null;
  if (!answer)
    return [
      element('p', {}, 'This cell was not asked.'), byVersion, reproduceSection(view), configSection(view)
    ];
  return [
    obstacleSection(answer), causeSection(answer), helpSection(view), frameworkSection(answer),
    notesSection(answer), reproduceSection(view), byVersion, enginesSection(answer), modesSection(answer),
    graphSection(answer), configSection(view)
  ];
}

function section(title, ...content) { return element('section', {}, element('h3', {}, title), content); }

function cellHeader({cell, config, target, answer, version}, dialog) {
  const milliseconds = data.milliseconds?.[cell];
  const facts = [
    target.name, `sm_${target.sm}`, target.kind === 'device' ? 'real GPU' : 'simulated',
    `cuDNN ${data.cudnns[version].version}`
  ];
  if (Number.isFinite(milliseconds)) facts.push(`answered in ${shortNumber(milliseconds)} ms`);
  const about = element('p', {class: 'muted'}, facts.join(' · '));
  return dialogHeader(config.name, [about, answer ? verdictLine(answer) : null], dialog);
}

function dialogHeader(title, content, dialog) {
  return element(
      'header', {class: 'cell-header'},
      element('div', {}, element('h2', {id: 'cell-title', tabindex: '-1'}, title), content),
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

/** The answer as a word, the expectation, and the number of engine configs. */
function verdictLine(answer) {
  const expected = answer.expect ?
      element(
          'span', {class: isMet(answer) ? 'muted' : 'unexpected'},
          `${isMet(answer) ? 'As expected' : 'Not as expected'} (expected: ${answer.expect})`) :
      null;
  const engines =
      `${answer.n} of ${counted(answer.c, 'candidate engine config')} ${answer.n === 1 ? 'works' : 'work'}`;
  return element(
      'p', {class: 'verdict-line'}, element('span', {class: `badge ${classesOf(answer)}`}, wordsOf(answer.v)), expected,
      isTaken(answer) ? element('span', {class: 'muted'}, engines) : null);
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

function noteItems(list) {
  return list.map(
      ([kind, text, source]) => element(
          'li', {}, element('b', {}, `${kindWords(kind)}: `), textAt(text), ' ',
          element('small', {class: 'muted'}, textAt(source))));
}

function obstacleSection({but = []}) {
  return but.length ? section('Obstacles', element('ul', {}, noteItems(but))) : null;
}

/** What frameworks do before they ask cuDNN, by their rules, with workarounds. */
function frameworkSection({frameworks = []}) {
  if (!frameworks.length) return null;
  const items = frameworks.map(({text, instead, changes, notes}) => {
    const more = [...changes.map((index) => `Workaround: ${textAt(index)}`), ...notes.map(textAt)];
    const then = textAt(instead);
    return element(
        'li', {}, textAt(text), then ? `; ${then}` : null,
        more.length ? element('ul', {}, more.map((words) => element('li', {}, words))) : null);
  });
  return section('Frameworks', element('ul', {}, items));
}

/**
 * Of what is not yes: what was probed or is known by rule, what else of this page is yes, and the command
 * that looks for more.
 */
function helpSection(view) {
  const {answer} = view;
  if (answer.v === 'yes' || answer.v === 'environment') return null;
  const advice = (answer.advice ?? []).map((index) => adviceItem(textAt(index)));
  const items = [...advice, ...helpInMatrix(view).map((words) => element('li', {}, words))];
  const isLookedFor = (answer.advice ?? []).some((index) => textAt(index).includes('\n'));
  const look = isLookedFor ? null : lookSection(view, items.length > 0);
  return section('Workarounds', items.length ? element('ul', {}, items) : null, look);
}

/** Without --quick, attnprobe looks for changes after which it works. */
function lookSection({config, target, version}, isMore) {
  const quick = reproduceCommand(config, target, data.cudnns[version]);
  const command = quick.replace(/ --quick\b/, '');
  if (!command) return null;
  const what = isMore ? 'To look for more:' :
                        'None is known; to look for one:';
  if (command === quick) return element('p', {class: 'muted'}, `${what} use the command below.`);
  return [element('p', {class: 'muted'}, what), commandBox(command)];
}

/** In an advice, the lines after the first are the command that confirmed it. */
function adviceItem(advice) {
  const [words, ...command] = advice.split('\n');
  return element('li', {}, words, command.length ? commandBox(command.join('\n')) : null);
}

/** Other versions on this GPU, and other GPUs with this version, that answer yes for the same config. */
function helpInMatrix({at, version, target, answer}) {
  const gpu = data.targets.indexOf(target);
  const isYes = (one, other) => answerAt(one, at, other)?.v === 'yes';
  const versions = data.cudnns.flatMap((one, index) => (isYes(index, gpu) ? [one.version] : []));
  const gpus =
      columnOrder().filter((other) => isYes(version, other)).map((other) => shortName(data.targets[other]));
  const isSaid =
      (answer.advice ?? []).some((index) => textAt(index).includes('the same config is supported on'));
  const lines = [];
  if (versions.length) lines.push(`Works unchanged on this GPU with cuDNN ${listed(versions)}.`);
  if (gpus.length && !isSaid) lines.push(`Works unchanged with this cuDNN on ${listed(gpus)}.`);
  return lines;
}

function listed(words, most = 8) {
  return words.length <= most ? words.join(', ') :
                                `${words.slice(0, most).join(', ')} and ${words.length - most} more`;
}

function notesSection({notes = [], frontend = NEVER, from = NEVER}) {
  const refusal = textAt(frontend), first = textAt(from);
  if (!notes.length && !refusal && !first) return null;
  const items = noteItems(notes);
  if (first) items.push(element('li', {}, `It works ${first}.`));
  if (refusal)
    items.unshift(element(
        'li', {},
        'cudnn-frontend refuses it before it asks cuDNN: ', element('q', {class: 'words'}, refusal)));
  return section('Versions and known bugs', element('ul', {}, items));
}

/** "": the question was a graph that no config builds. */
function reproduceCommand(config, target, cudnn) {
  return config.command ?
      `${config.command} --target ${target.word || target.id} --cudnn ${cudnn.word || cudnn.version}` :
      '';
}

function reproduceSection({config, target, version}) {
  const command = reproduceCommand(config, target, data.cudnns[version]);
  return command ? section('Reproduce', commandBox(command)) : null;
}

/** The answer by version, and the first version with a yes: for this GPU, and folded for the others. */
function versionsSection(page, place, open) {
  const others = columnOrder().filter((target) => target !== place.target);
  return section(
      'By cuDNN version', versionsTable(page, place, [place.target], open),
      others.length ?
          element(
              'details', {}, element('summary', {}, `On the other ${counted(others.length, 'GPU')}`),
              versionsTable(page, place, others, open)) :
          null);
}

function versionsTable(page, place, targets, open) {
  const heads = [...data.cudnns.map(({version}) => version), 'yes since'].map(
      (words) => element('th', {scope: 'col'}, words));
  const rows = targets.map(
      (target) => element(
          'tr', {}, element('th', {scope: 'row'}, data.targets[target].name),
          data.cudnns.map((_, version) => element('td', {}, stripButton(place, target, version, open))),
          element(
              'td', {class: 'strip-since'},
              sinceWords(page.past.first[place.config * data.targets.length + target]))));
  return element(
      'div', {class: 'scroll'},
      element(
          'table', {class: 'strip'}, element('thead', {}, element('tr', {}, element('td'), heads)),
          element('tbody', {}, rows)));
}

function stripButton(place, target, version, open) {
  const cell = cellIndex(version, place.config, target);
  const answer = answerOf(cell);
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
        click: () => open(cell)
      },
      answer ? shortOf(answer.v) : '');
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
