// Two fields as a plane: each point is coloured by its answer, engine, reason or time; touching it shows the answer and
// whether it was asked.

const data = JSON.parse(document.getElementById('data').textContent);
const CHOICES = {
  answer: 'answer',
  engine: 'first engine',
  category: 'why not',
  time: 'time of the first choice'
};
const WORDS = {
  yes: 'yes',
  but: 'but',
  no: 'no',
  invalid: 'no such config',
  error: 'error',
  environment: 'a problem of the machine'
};
// From light to dark within each answer's family; families are distinguishable with any colour vision.
const COLOURS = {
  yes: ['#2f7fd1', '#0b3f78', '#7fb6ec', '#1aa3a3', '#5a54c4', '#14638f', '#a9cdf0', '#3f2b8c'],
  but: ['#e3b505', '#a87b00', '#f4d96b', '#7d5c00'],
  no: ['#f0c9a4', '#c96a1f', '#8a3d0a', '#e79a62', '#6b4a35', '#f6ddc8', '#b58463', '#d9b08c'],
  other: ['#9a1457', '#d64d92', '#5c0d35']
};
const DARK_COLOURS = {
  yes: ['#4f9be6', '#245f9c', '#9cc8f2', '#3bb3b3', '#8a84ea', '#2f86bd', '#c3ddf5', '#6a52c8'],
  but: ['#d9b21c', '#8f6f10', '#f0db7c', '#665012'],
  no: ['#5b3a20', '#a05f2c', '#38241a', '#7d4a24', '#8f7562', '#c98a55', '#463029', '#6d5748'],
  other: ['#f582b8', '#b04a80', '#7a2f58']
};

function labelOf(point, by) {
  const answer = WORDS[point.answer] ?? point.answer;
  if (by === 'engine' && point.engine !== undefined) return `${answer}, engine ${point.engine}`;
  if (by === 'category' && point.category) return `${answer}, ${point.category.replaceAll('_', ' ')}`;
  return answer;
}

/** Labels with their colours, the most frequent label of an answer first. */
function paletteOf(page) {
  const counts = new Map();
  for (const map of page.maps)
    for (const row of map.rows)
      for (const {point} of row) {
        if (hasTimeColour(page, point)) continue;
        const label = labelOf(point, page.by);
        const known = counts.get(label) ?? {answer: point.answer, count: 0};
        known.count++;
        counts.set(label, known);
      }
  const order = ['yes', 'but', 'no', 'error', 'environment', 'invalid'];
  const entries = [...counts]
                      .map(([label, one]) => ({label, ...one}))
                      .sort((a, b) => order.indexOf(a.answer) - order.indexOf(b.answer) || b.count - a.count);
  const used = {};
  return new Map(entries.map(({label, answer, count}) => {
    const colours = isDark() ? DARK_COLOURS : COLOURS;
    const family = colours[answer] ? answer : 'other';
    const nth = used[family] = (used[family] ?? -1) + 1;
    const colour = answer === 'invalid' ?
        'transparent' :
        colours[family][nth] ?? `hsl(${nth * 47} 40% ${isDark() ? 35 : 70}%)`;
    return [label, {colour, count}];
  }));
}

/** "0.0123 ms", three digits. */
function timeText(ms) {
  return `${Number(ms.toPrecision(3))} ms`;
}

/** The colour of a share from 0 to 1, interpolated between the colours of the scale. */
function mixedColour(share) {
  const colours = data.times.colours;
  const place = share * (colours.length - 1);
  const below = Math.min(Math.floor(place), colours.length - 2);
  const channels = [1, 3, 5].map((at) => {
    const [low, high] = [below, below + 1].map((stop) => parseInt(colours[stop].slice(at, at + 2), 16));
    return Math.round(low + (high - low) * (place - below));
  });
  return `rgb(${channels.join(' ')})`;
}

/** Logarithmic: a factor of two has the same distance everywhere. */
function timeColour(ms) {
  const {shortest_ms: shortest, longest_ms: longest} = data.times;
  return mixedColour(longest > shortest ? Math.log(ms / shortest) / Math.log(longest / shortest) : 0);
}

function hasTimeColour(page, point) {
  return page.by === 'time' && point.ms !== undefined;
}

/** Rows from bottom to top, each with a point for every horizontal value. */
function unpacked({title, rows}) {
  return {
    title,
    rows: rows.map(
        (runs) => runs.flatMap(
            ([point, asked, count]) =>
                Array.from({length: count}, () => ({point: data.points[point], asked}))))
  };
}

function start() {
  const page = {
    by: data.by.includes('answer') ? 'answer' : data.by[0],
    maps: data.maps.map(unpacked),
    at: null
  };
  document.title = data.title;
  byId('title').textContent = data.title;
  const asked = data.asked < data.cells ?
      `${data.asked.toLocaleString('en')} of ${
          counted(data.cells, 'point')} were asked, the rest follows from their neighbours; by ` :
      `${counted(data.cells, 'point')}, all asked, by `;
  byId('about').append(asked, data.tool, ': ', element('code', {}, data.command));
  buildChoices(page);
  page.figures = page.maps.map((map, at) => buildMap(page, map, at));
  byId('maps').append(...page.figures.map(({node}) => node));
  byId('save-csv')
      .addEventListener(
          'click', () => saveFile(fileName(data.title, 'csv'), 'text/csv', pointsText(page, 'csv')));
  byId('save-json')
      .addEventListener(
          'click',
          () => saveFile(fileName(data.title, 'json'), 'application/json', pointsText(page, 'json')));
  addEventListener('hashchange', () => takeFragment(page));
  addEventListener('themechange', () => draw(page));
  buildTheme(() => writeAddress(page, false));
  takeFragment(page);
  globalThis.attnprobe = {
    data,
    page,
    pointsText: (form) => pointsText(page, form)
  };  // for a console, and for tests
}

function buildChoices(page) {
  const choice = (by) => element(
      'label', {}, element('input', {
        type: 'radio',
        name: 'by',
        value: by,
        change: () => {
          page.by = by;
          draw(page);
          writeAddress(page, true);
        }
      }),
      CHOICES[by]);
  byId('by').append(element('span', {class: 'muted'}, 'Coloured by'), ...data.by.map(choice));
}

function buildMap(page, map, at) {
  const {across, up} = data;
  const width = across.values.length, height = up.values.length;
  const canvas = element('canvas', {
    width,
    height,
    tabindex: '0',
    role: 'application',
    'aria-label': `${map.title}: ${up.name} upwards, ${across.name} to the right; arrow keys read the points`
  });
  canvas.style.aspectRatio = `${width} / ${Math.max(height, Math.ceil(width / 4))}`;
  canvas.addEventListener('pointermove', (event) => read(page, placeUnder(event, canvas, at), false));
  canvas.addEventListener('click', (event) => read(page, placeUnder(event, canvas, at), true));
  canvas.addEventListener('keydown', (event) => walk(page, event, at));
  const ticks = (values) => values.map((index) => element('span', {}, index));
  const middle = (values) => [values[0], values[Math.floor((values.length - 1) / 2)], values.at(-1)];
  const plot = element(
      'div', {class: 'plot'},
      element(
          'div',
          {class: 'scale up'},
          ticks(middle(up.values).toReversed()),
          ),
      canvas, element('div', {class: 'corner'}),
      element('div', {class: 'scale'}, ticks(middle(across.values))), element('div', {class: 'corner'}),
      element(
          'div', {class: 'scale'}, element('span', {}, '↑ ', element('b', {}, up.name)),
          element('span', {}, element('b', {}, across.name), ' →')));
  return {canvas, node: element('section', {class: 'map'}, element('h2', {}, map.title), plot)};
}

function placeUnder({clientX, clientY}, canvas, map) {
  const {left, top, width, height} = canvas.getBoundingClientRect();
  const place = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
  return {
    map,
    x: place((clientX - left) / width, canvas.width),
    y: canvas.height - 1 - place((clientY - top) / height, canvas.height)
  };
}

function walk(page, event, map) {
  const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  const from = page.at?.map === map ? page.at : {map, x: 0, y: -step[1]};
  const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
  read(
      page, {
        map,
        x: clamp(from.x + step[0], data.across.values.length),
        y: clamp(from.y + step[1], data.up.values.length)
      },
      true);
}

function reasonWords({reason, source}) {
  return [reason, source ? `(${source})` : ''].filter(Boolean).join(' ');
}

/** The reason of the nearest asked point with the same answer, because inferred points have no reason. */
function unaskedWords(page, {map, x, y}) {
  const {rows} = page.maps[map];
  const here = rows[y][x].point;
  const isAlike = (one) => one?.asked && one.point.reason &&
      ['answer', 'engine', 'category'].every((key) => one.point[key] === here[key]);
  const most = Math.max(rows.length, rows[y].length);
  for (let far = 1; far < most; far++)
    for (const [toX, toY] of [[x - far, y], [x + far, y], [x, y - far], [x, y + far]])
      if (isAlike(rows[toY]?.[toX])) {
        const where = toY === y ? `${data.across.name} ${data.across.values[toX]}` :
                                  `${data.up.name} ${data.up.values[toY]}`;
        return `Not asked: inferred from its neighbours. At ${where}: ${
            reasonWords(rows[toY][toX].point)}`;
      }
  return 'Not asked: inferred from its neighbours.';
}

/** Shows the answer at a point; `isKept`: also writes it to the address. */
function read(page, at, isKept) {
  page.at = at;
  const {point, asked} = page.maps[at.map].rows[at.y][at.x];
  const where = `${data.up.name} ${data.up.values[at.y]}, ${data.across.name} ${data.across.values[at.x]}`;
  const engine = point.engine === undefined ? '' : `, engine ${point.engine}`;
  const why = point.category ? `, ${point.category.replaceAll('_', ' ')}` : '';
  const time = [
    point.ms === undefined ? '' : `, ${timeText(point.ms)}`,
    point.fastest_ms === undefined ? '' : `, engine ${point.fastest_engine} ${timeText(point.fastest_ms)}`
  ].join('');
  const told = asked ? reasonWords(point) : unaskedWords(page, at);
  byId('point').replaceChildren(
      element('p', {class: 'where'}, `${where}: ${WORDS[point.answer] ?? point.answer}${engine}${why}${time}`),
      told ? element('p', {}, told) : '',
      data.maps.length > 1 ? element('p', {class: 'muted'}, page.maps[at.map].title) : '');
  byId('point').hidden = false;
  draw(page);
  if (isKept) writeAddress(page, false);
}

function draw(page) {
  const palette = paletteOf(page);
  const items = [...palette].map(([label, {colour, count}]) => {
    const sample = element('span', {class: 'sample'});
    sample.style.background = colour;
    return element('span', {class: 'legend-item'}, sample, `${label} (${count.toLocaleString('en')})`);
  });
  if (page.by === 'time') items.unshift(timeLegend());
  byId('legend').replaceChildren(...items);
  for (const input of document.querySelectorAll('[name=by]')) input.checked = input.value === page.by;
  page.figures.forEach(({canvas}, at) => drawMap(page, palette, canvas, at));
}

function timeLegend() {
  const bar = element('span', {class: 'sample scale-of-times'});
  bar.style.background = `linear-gradient(to right in srgb, ${data.times.colours.join(', ')})`;
  const {shortest_ms: shortest, longest_ms: longest} = data.times;
  return element('span', {class: 'legend-item'}, timeText(shortest), bar, `${timeText(longest)}, in equal ratios`);
}

function drawMap(page, palette, canvas, at) {
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, canvas.width, canvas.height);
  page.maps[at].rows.forEach((row, y) => row.forEach(({point}, x) => {
    context.fillStyle =
        hasTimeColour(page, point) ? timeColour(point.ms) : palette.get(labelOf(point, page.by)).colour;
    context.fillRect(x, canvas.height - 1 - y, 1, 1);
  }));
  if (page.at?.map !== at) return;
  context.fillStyle = getComputedStyle(document.body).color;
  context.fillRect(page.at.x, canvas.height - 1 - page.at.y, 1, 1);
}

/** Further members of a saved point, if times were measured. */
function timesOf(point) {
  if (!data.times) return {};
  return {
    ms: point.ms ?? '',
    fastest_ms: point.fastest_ms ?? '',
    fastest_engine: point.fastest_engine ?? ''
  };
}

/** One row per point. */
function pointsText(page, form) {
  const {across, up} = data;
  const records =
      page.maps.flatMap(({title, rows}) => rows.flatMap((row, y) => row.map(({point, asked}, x) => ({
                                                                              map: title,
                                                                              [up.name]: up.values[y],
                                                                              [across.name]: across.values[x],
                                                                              answer: point.answer,
                                                                              engine: point.engine ?? '',
                                                                              category: point.category ?? '',
                                                                              reason: point.reason ?? '',
                                                                              source: point.source ?? '',
                                                                              asked,
                                                                              ...timesOf(point)
                                                                            }))));
  if (form === 'json')
    return `${
        JSON.stringify(
            {title: data.title, tool: data.tool, command: data.command, points: records}, null, 1)}\n`;
  return csvText([Object.keys(records[0]), ...records.map((record) => Object.values(record))]);
}

function writeAddress(page, isStep) {
  const lists = {};
  if (page.by !== 'answer') lists.by = [page.by];
  if (page.at) lists.at = [String(page.at.map), data.up.values[page.at.y], data.across.values[page.at.x]];
  if (theme.named) lists.theme = [theme.named];
  writeFragment(fragmentOf(lists), isStep);
}

function takeFragment(page) {
  const lists = readFragment();
  nameTheme(lists.theme?.[0] ?? null);
  const by = lists.by?.[0];
  page.by = data.by.includes(by) ? by : 'answer';
  const [map, up, across] = lists.at ?? [];
  const at = {map: Number(map), x: data.across.values.indexOf(across), y: data.up.values.indexOf(up)};
  if (page.maps[at.map] && at.x >= 0 && at.y >= 0) {
    read(page, at, false);
    return;
  }
  page.at = null;
  byId('point').hidden = true;
  draw(page);
}

start();
