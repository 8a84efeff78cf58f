// The shown cells as files: one row per cell that matches the filters, in the order of the grid.

const EXPORTED = [
  ['config', ({config}) => config.name],
  ['summary', ({config}) => config.summary],
  ['gpu', ({target}) => target.id],
  ['gpu_name', ({target}) => target.name],
  ['sm', ({target}) => target.sm],
  ['kind', ({target}) => target.kind],
  ['cudnn', ({cudnn}) => cudnn.version],
  ['answer', ({answer}) => answer.v],
  ['expected', ({answer}) => answer.expect],
  ['as_expected', ({answer}) => isMet(answer)],
  ['in_the_way', ({answer}) => (answer.but ?? []).map(([, text]) => textAt(text))],
  ['category', ({answer}) => answer.category],
  ['reason', ({answer}) => textAt(answer.reason)],
  ['what_helps', ({answer}) => (answer.advice ?? []).map(textAt)],
  ['known', ({answer}) => (answer.notes ?? []).map(([, text]) => textAt(text))],
  ['frameworks', ({answer}) => (answer.frameworks ?? []).map(({text}) => textAt(text))],
  ['yes_since', ({first}) => (first === NEVER ? '' : data.cudnns[first].version)],
  ['engine', ({answer}) => engineWords(answer)],
  ['command', ({config, target, cudnn}) => reproduceCommand(config, target, cudnn)],
];

/** The cells that match, by row and column of the grid. */
function shownCells(page) {
  const width = page.columns.values.length;
  return page.grid.rows.flatMap(
      (row, at) =>
          (row.hidden ? [] : page.grid.shown.flatMap((column) => page.grid.matching[at * width + column])));
}

function recordOf(page, cell) {
  const {version, config, target} = placeOfCell(cell);
  const view = {
    config: data.configs[config],
    target: data.targets[target],
    cudnn: data.cudnns[version],
    answer: answerOf(cell),
    first: page.past.first[config * data.targets.length + target]
  };
  return Object.fromEntries(EXPORTED.map(([name, of]) => [name, of(view)]));
}

/** "csv" or "json" with the shown cells. */
function shownText(page, form) {
  const records = shownCells(page).map((cell) => recordOf(page, cell));
  if (form === 'json') {
    const about = {title: data.title, tool: data.tool, command: data.command, view: location.hash.slice(1)};
    return `${JSON.stringify({...about, cells: records}, null, 1)}\n`;
  }
  const words = (value) => (Array.isArray(value) ? value.join(' ; ') : value);
  return csvText(
      [EXPORTED.map(([name]) => name), ...records.map((record) => Object.values(record).map(words))]);
}

function saveShown(page, form) {
  saveFile(
      fileName(data.title, form), form === 'csv' ? 'text/csv' : 'application/json', shownText(page, form));
}
