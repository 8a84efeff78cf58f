// The engine configs of an opened cell, and the heuristic modes that propose them.

// Columns of the engine table; columns without content are omitted.
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
  {title: 'Plan', of: planWords, className: 'plan'},
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

/** For a yes, the unneeded ones are folded. */
function enginesSection(answer) {
  const rows = (answer.engines ?? []).map((index) => data.engines[index]);
  if (!rows.length) return null;
  const refused = isTaken(answer) ? rows.filter((row) => !row.ok) : [];
  const shown = rows.filter((row) => !refused.includes(row));
  return section(
      'Engine configs', shown.length ? enginesTable(shown) : null,
      refused.length ? element(
                           'details', {class: 'refused-engines'},
                           element('summary', {}, `${counted(refused.length, 'refused engine config')}`),
                           enginesTable(refused)) :
                       null);
}

function enginesTable(rows) {
  const slowest = Math.max(0, ...rows.map((row) => row.ms ?? 0));
  const contents = rows.map((row) => ENGINE_COLUMNS.map((column) => column.of(row, slowest)));
  const used =
      ENGINE_COLUMNS.flatMap((_, at) => (contents.some((content) => content[at] !== '') ? [at] : []));
  const heads = used.map((at) => element('th', {scope: 'col'}, ENGINE_COLUMNS[at].title));
  const lines = rows.map(
      (row, at) => element('tr', {class: row.ok ? 'viable' : 'refused'}, engineCells(contents[at], used)));
  return plainTable(heads, lines);
}

/** The last cell with content spans the empty cells after it. */
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

/** Status and reason of a config that passes the check but does not compile, or the kernels of a compiled plan. */
function planWords(row) {
  const kernelWords = (kernel) => element('small', {class: 'words'}, breakable(textAt(kernel)));
  if (!row.plan) return '';
  if (row.plan !== 'failed') return [row.plan, (row.kn ?? []).map(kernelWords)];
  return [element('b', {class: 'unexpected'}, 'failed: '), breakable(row.s), reasonWords(row)];
}

function reasonWords(row) {
  const reason = textAt(row.r);
  return reason ? element('q', {class: 'words'}, reason) : '';
}

/** A long cuDNN name that may break after an underscore. */
function breakable(name) { return name.split(/(?<=[_,[])/).flatMap((part) => [part, element('wbr')]); }

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
