// Selects the shown cells: each filter is a bit, and a cell is shown if no filter refuses it. So one pass over the
// cells also counts how many cells each choice of a filter would show.

const BITS = {
  text: 1,
  pattern: 2,
  pass: 4,
  dtype: 8,
  gpu: 16,
  verdict: 32,
  category: 64,
  note: 128,
  unexpected: 256,
  differs: 512
};
const OF_CONFIGS = ['pattern', 'pass', 'dtype'];
/** Filters that depend on answers, not only on configs and GPUs. */
const ABOUT_ANSWERS = BITS.verdict | BITS.category | BITS.note | BITS.unexpected | BITS.differs;

function readSelection(page) {
  const {sets, switches} = filters;
  const bit = (name, isGood) => (isGood ? 0 : BITS[name]);
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  const ofConfigs = data.configs.map(
      (config, at) => OF_CONFIGS.reduce(
          (bits, field) => bits | bit(field, allows(sets[field], config[field])),
          bit('text', words.every((word) => page.haystacks[at].includes(word)))));
  const ofTargets = data.targets.map(({id}) => bit('gpu', allows(sets.gpu, id)));
  const ofAnswers = data.answers.map(
      (answer, at) => bit('verdict', allows(sets.verdict, answer.v)) |
          bit('category', allowsAny(sets.category, page.answerFacts[at].reasons)) |
          bit('note', allowsAny(sets.note, page.answerFacts[at].notes)) |
          bit('unexpected', !switches.unexpected || !isMet(answer)));
  return {ofConfigs, ofTargets, ofAnswers, differs: switches.differs, past: page.past};
}

function allows(set, value) { return set.size === 0 || set.has(value); }

function allowsAny(set, values) { return set.size === 0 || values.some((value) => set.has(value)); }

/** The searched text of a config: its name, its summary, and its fields as "mask=causal". */
function haystackOf({name, summary, fields}) {
  const pairs = Object.entries(fields ?? {}).map(([key, value]) => `${key}=${fieldWords(value)}`);
  return `${name} ${summary} ${pairs.join(' ')}`.toLowerCase();
}

/** The bits that refuse a cell. Filters about answers refuse cells that were not asked. */
function refusedBy(selection, cell, place) {
  const {config, target} = place;
  const bits = selection.ofConfigs[config] | selection.ofTargets[target];
  const answer = data.cells[cell];
  if (answer === NEVER) return bits | (filtersAnswers() ? ABOUT_ANSWERS : 0);
  const isSame = selection.differs && selection.past.differs[config * data.targets.length + target] === 0;
  return bits | selection.ofAnswers[answer] | (isSame ? BITS.differs : 0);
}

/**
 * Of these versions: the cells that were asked, those that match, and for each filter how many each of its
 * choices would show.
 */
function countCells(page, selection, versions) {
  const counts = {
    asked: 0,
    matching: 0,
    configs: new Set(),
    pattern: new Map(),
    pass: new Map(),
    dtype: new Map(),
    gpu: new Map()
  };
  const perAnswer =
      {matching: new Map(), verdict: new Map(), category: new Map(), note: new Map(), unexpected: new Map()};
  for (const version of versions)
    for (let config = 0; config < data.configs.length; config++)
      for (let target = 0; target < data.targets.length; target++) {
        const cell = cellIndex(version, config, target);
        const answer = data.cells[cell];
        if (answer === NEVER) continue;
        counts.asked++;
        const bits = refusedBy(selection, cell, {config, target});
        if (bits === 0) {
          counts.matching++;
          counts.configs.add(config);
          addTo(perAnswer.matching, answer);
        }
        if (bits & (bits - 1)) continue;  // two filters refuse it
        for (const field of OF_CONFIGS)
          if ((bits & ~BITS[field]) === 0) addTo(counts[field], data.configs[config][field]);
        if ((bits & ~BITS.gpu) === 0) addTo(counts.gpu, data.targets[target].id);
        for (const name of ['verdict', 'category', 'note', 'unexpected'])
          if ((bits & ~BITS[name]) === 0) addTo(perAnswer[name], answer);
      }
  return {...counts, ...countAnswers(page, perAnswer)};
}

function addTo(map, key, count = 1) { map.set(key, (map.get(key) ?? 0) + count); }

/** Converts counts of cells per answer to counts per fact of the answers. */
function countAnswers(page, perAnswer) {
  const counts = {verdict: new Map(), category: new Map(), note: new Map(), shown: new Map(), unmet: 0};
  for (const [answer, count] of perAnswer.matching) addTo(counts.shown, data.answers[answer].v, count);
  for (const [answer, count] of perAnswer.verdict) addTo(counts.verdict, data.answers[answer].v, count);
  for (const [answer, count] of perAnswer.category)
    for (const reason of page.answerFacts[answer].reasons) addTo(counts.category, reason, count);
  for (const [answer, count] of perAnswer.note)
    for (const note of page.answerFacts[answer].notes) addTo(counts.note, note, count);
  for (const [answer, count] of perAnswer.unexpected)
    if (!isMet(data.answers[answer])) counts.unmet += count;
  return counts;
}

/** For a version, without the choices: the number of matching cells, and how many of them are yes. */
function countMatches(selection, version) {
  const counts = {matching: 0, yes: 0};
  for (let config = 0; config < data.configs.length; config++) {
    if (selection.ofConfigs[config]) continue;
    for (let target = 0; target < data.targets.length; target++) {
      const cell = cellIndex(version, config, target);
      if (data.cells[cell] === NEVER || refusedBy(selection, cell, {config, target})) continue;
      counts.matching++;
      if (answerOf(cell).v === 'yes') counts.yes++;
    }
  }
  return counts;
}
