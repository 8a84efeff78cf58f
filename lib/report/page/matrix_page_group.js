// Several cells that share a place of the grid, opened: the cells and their answers.

const MOST_LISTED = 300;

/** `open(cell)` opens one of the cells. */
function showGroup(page, place, open) {
  const dialog = byId('cell');
  const width = page.columns.values.length;
  const {grid, rows, columns} = page;
  const at = place.row * width + place.column;
  const cells =
      grid.matching[at].length ? grid.matching[at] : grid.groups[at].filter((cell) => answerOf(cell));
  const title =
      `${rows.title} ${rows.values[place.row].name}, ${columns.title} ${columns.values[place.column].name}`;
  const lines = cells.slice(0, MOST_LISTED).map((cell) => groupLine(cell, open));
  const heads =
      ['Answer', 'Config', 'GPU', 'cuDNN', 'Why'].map((words) => element('th', {scope: 'col'}, words));
  const rest = cells.length - lines.length;
  dialog.replaceChildren(
      dialogHeader(
          title, element('p', {class: 'muted'}, cells.length ? countsText(cells) : 'Not asked'), dialog),
      element(
          'div', {class: 'cell-body'}, plainTable(heads, lines),
          rest > 0 ?
              element(
                  'p', {class: 'muted'},
                  `… and ${counted(rest, 'more cell', 'more cells')}; filters show fewer, and CSV has all.`) :
              null));
  openDialog(dialog);
}

function groupLine(cell, open) {
  const {version, config, target} = placeOfCell(cell);
  const answer = answerOf(cell);
  const why = answer.v === 'but' ? textAt(answer.but?.[0]?.[1]) : answer.category.replaceAll('_', ' ');
  const button = element(
      'button', {
        type: 'button',
        class: `open ${classesOf(answer)}`,
        click: () => open(cell),
        'aria-label': describeCell(cell, true)
      },
      shortOf(answer.v));
  return element(
      'tr', {}, element('td', {}, button), element('td', {class: 'name'}, data.configs[config].name),
      element('td', {}, shortName(data.targets[target])), element('td', {}, data.cudnns[version].version),
      element('td', {}, why));
}
