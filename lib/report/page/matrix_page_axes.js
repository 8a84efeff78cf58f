// Rows and columns: configs, GPUs, cuDNN versions, or a field of the configs. All cells with the same row and column
// form one cell of the grid.

/**
 * The possible rows and columns. `values` are labels in order; `indices` has the place in them of each config,
 * target or version, by what the axis is `of`.
 */
function buildAxes(order) {
  const place = new Array(order.length);
  order.forEach((target, column) => {
    place[target] = column;
  });
  const axes = [
    {
      name: 'config',
      title: 'Config',
      of: 'config',
      indices: data.configs.map((_, at) => at),
      values: data.configs.map(({name, summary}) => ({name, detail: summary, about: `${name}\n${summary}`}))
    },
    {
      name: 'gpu',
      title: 'GPU',
      of: 'target',
      indices: place,
      values: order.map((target) => gpuValue(data.targets[target]))
    },
    {
      name: 'cudnn',
      title: 'cuDNN',
      of: 'version',
      indices: data.cudnns.map((_, at) => at),
      values: data.cudnns.map(({version}) => ({name: version, detail: '', about: `cuDNN ${version}`}))
    }
  ];
  return [...axes, ...fieldAxes()];
}

function gpuValue(target) {
  const real = target.kind === 'device' ? ', real' : '';
  return {
    name: shortName(target),
    detail: `sm_${target.sm}${real}`,
    about: `${target.name}, sm_${target.sm}, ${target.kind}`,
    family: target.family
  };
}

/** Fields in which the configs differ. */
function fieldAxes() {
  const names = new Set(data.configs.flatMap(({fields}) => Object.keys(fields ?? {})));
  return [...names].map(fieldAxis).filter(({values}) => values.length > 1);
}

function fieldAxis(field) {
  const words = data.configs.map(({fields}) => fieldWords(fields?.[field]));
  const compare = (a, b) => (a === '–') - (b === '–') || a.localeCompare(b, 'en', {numeric: true});
  const distinctWords = [...new Set(words)].sort(compare);
  const at = new Map(distinctWords.map((word, index) => [word, index]));
  return {
    name: field,
    title: field,
    of: 'config',
    indices: words.map((word) => at.get(word)),
    values: distinctWords.map((word) => ({name: word, detail: '', about: `${field} ${word}`}))
  };
}

/** "causal"; "window_left 4095, window_right 0" for an object; "–" if the config does not have the field. */
function fieldWords(value) {
  if (value === undefined || value === null) return '–';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return JSON.stringify(value);
  return Object.entries(value).map(([key, one]) => `${key} ${fieldWords(one)}`).join(', ');
}

function axisNamed(page, name) { return page.axes.find((axis) => axis.name === name); }

/** The versions whose cells are shown: the selected version, or all if rows or columns are versions. */
function versionsShown(page) {
  const isAxis = [page.rows, page.columns].some(({of}) => of === 'version');
  return isAxis ? data.cudnns.map((_, at) => at) : [page.version];
}

/** The cells of each place of the grid, by row and column, including cells that were not asked. */
function groupCells(page) {
  const {rows, columns} = page;
  const groups = Array.from({length: rows.values.length * columns.values.length}, () => []);
  const width = columns.values.length;
  for (const version of versionsShown(page))
    for (let config = 0; config < data.configs.length; config++)
      for (let target = 0; target < data.targets.length; target++) {
        const place = {version, config, target};
        const row = rows.indices[place[rows.of]], column = columns.indices[place[columns.of]];
        groups[row * width + column].push(cellIndex(version, config, target));
      }
  return groups;
}

/** The text in a cell of the grid, for all its matching cells. */
const SHOWN = {
  answer: {title: 'answers', words: answerWords},
  since: {title: 'since when', words: sinceCellWords},
  engine: {title: 'first engine', words: (cells) => oneOf(cells.map((cell) => engineWords(answerOf(cell))))},
  why: {title: 'why not', words: (cells) => oneOf(cells.flatMap((cell) => reasonsOf(answerOf(cell))))},
  time: {title: 'time of the fastest', words: timeWords},
};

/** "yes"; "7/9" if 7 of 9 are yes. */
function answerWords(cells) {
  const verdicts = new Set(cells.map((cell) => answerOf(cell).v));
  if (verdicts.size === 1) return shortOf([...verdicts][0]);
  return `${cells.filter((cell) => answerOf(cell).v === 'yes').length}/${cells.length}`;
}

function sinceCellWords(cells, page) {
  const firsts = cells.map((cell) => {
    const {config, target} = placeOfCell(cell);
    return page.past.first[config * data.targets.length + target];
  });
  const known = firsts.filter((version) => version !== NEVER);
  return known.length ? sinceWords(Math.min(...known)).replace(/\.0$/, '') : 'never';
}

function engineWords(answer) {
  const first = (answer.engines ?? [])
                    .map((index) => data.engines[index])
                    .find((row) => row.ok && row.plan !== 'failed');
  return first && isTaken(answer) ? String(first.e) : '';
}

/** The value that they share, or the number of different values. */
function oneOf(words) {
  const different = [...new Set(words.filter(Boolean))];
  return different.length < 2 ? (different[0] ?? '').replaceAll('_', ' ') : `${different.length} kinds`;
}

function timeWords(cells) {
  const times = cells.map((cell) => fastestMs(answerOf(cell))).filter(Number.isFinite);
  return times.length ? shortNumber(Math.min(...times)) : '';
}

function fastestMs(answer) {
  const rows = (answer.engines ?? []).map((index) => data.engines[index]);
  return Math.min(
      ...rows.filter((row) => Number.isFinite(row.ms) && row.run !== 'wrong_result').map((row) => row.ms));
}

/** Only useful ones: no times if nothing ran, no first version if only one version was asked. */
function shownChoices() {
  const hasTimes = data.engines.some((row) => Number.isFinite(row.ms));
  return Object.keys(SHOWN).filter(
      (name) => (name !== 'time' || hasTimes) && (name !== 'since' || data.cudnns.length > 1));
}
