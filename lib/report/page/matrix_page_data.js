// Questions and answers: the payload of the page, and the words for it.

const data = JSON.parse(document.getElementById('data').textContent);

// `short` fits in a cell.
const VERDICTS = {
  yes: {words: 'Yes', short: 'yes', means: 'a program can use it'},
  but: {words: 'But', short: 'but', means: 'cuDNN supports it, with an obstacle'},
  no: {words: 'No', short: 'no', means: 'cuDNN refuses it'},
  invalid_graph: {words: 'Invalid graph', short: 'invalid', means: 'cuDNN calls the graph malformed'},
  error: {words: 'Error', short: 'error', means: 'another error of cuDNN'},
  crashed: {words: 'Crashed', short: 'crash', means: 'cuDNN crashed its process'},
  timeout: {words: 'Timed out', short: 'hang', means: 'cuDNN did not return'},
  wrong_result: {words: 'Wrong result', short: 'wrong', means: 'the result is wrong'},
  environment: {words: 'Environment', short: 'env', means: 'a problem of the machine: no answer'},
};

// Obstacles and notes, in the plural.
const KINDS = {
  framework: 'framework gate',
  frontend: 'cudnn-frontend refuses it',
  known_bug: 'known bug',
  requirement: 'version or GPU rule',
  outside_heuristics: 'no heuristic proposes it',
  first_choice_fails: 'the first choice fails',
  by_rule: 'by rule, not asked',
  frontend_engine: 'cudnn-frontend\'s own engine, by rule',
};

const NEVER = -1;

function textAt(index) { return data.texts[index] ?? ''; }

function cellIndex(version, config, target) {
  return (version * data.configs.length + config) * data.targets.length + target;
}

function placeOfCell(cell) {
  const targets = data.targets.length, configs = data.configs.length;
  const row = Math.floor(cell / targets);
  return {version: Math.floor(row / configs), config: row % configs, target: cell % targets};
}

/** null: not asked. */
function answerOf(cell) { return data.answers[data.cells[cell]] ?? null; }

function answerAt(version, config, target) { return answerOf(cellIndex(version, config, target)); }

/** cuDNN supports it, with or without an obstacle. */
function isTaken(answer) { return answer?.v === 'yes' || answer?.v === 'but'; }

function isMet(answer) { return answer.met !== false; }

function wordsOf(verdict) { return VERDICTS[verdict]?.words ?? verdict; }

function shortOf(verdict) { return VERDICTS[verdict]?.short ?? verdict; }

function kindWords(kind) { return KINDS[kind] ?? kind.replaceAll('_', ' '); }

/** Why the answer is no or but: the categories of the root cause and the obstacles. */
function reasonsOf(answer) {
  return [...new Set([answer.category, ...(answer.but ?? []).map(([kind]) => kind)].filter(Boolean))];
}

/**
 * Notes next to the answer: [kind, text, source] of bugs, rules and gates.
 */
function notesOf(answer) {
  const told = [...(answer.but ?? []), ...(answer.notes ?? [])].map(
      ([kind, text, source]) => ({kind, text: textAt(text), source: textAt(source)}));
  const frontend = textAt(answer.frontend);
  if (frontend) told.push({kind: 'frontend', text: frontend, source: ''});
  for (const framework of answer.frameworks ?? [])
    if (framework.takes !== 'yes') told.push({kind: 'framework', text: textAt(framework.text), source: ''});
  return told.filter(({text}, at) => text && told.findIndex((other) => other.text === text) === at);
}

/** The CSS classes of a cell, in the matrix and in the version strips. */
function classesOf(answer) {
  if (!answer) return 'not-asked';
  const verdict = answer.v in VERDICTS ? answer.v : 'error';
  const isNoted = answer.v === 'yes' && (answer.notes ?? []).length > 0;
  return `tile ${verdict}${isMet(answer) ? '' : ' unmet'}${isNoted ? ' noted' : ''}`;
}

/** "yes"; "but, PyTorch refuses dropout"; "no, shared_memory, not as expected". */
function describeAnswer(answer) {
  if (!answer) return 'not asked';
  const parts = [wordsOf(answer.v).toLowerCase()];
  for (const [, text] of answer.but ?? []) parts.push(textAt(text));
  if (!isTaken(answer) && answer.category) parts.push(answer.category);
  if (answer.v === 'yes')
    for (const [kind] of answer.notes ?? []) parts.push(kindWords(kind));
  if (!isMet(answer)) parts.push('not as expected');
  return [...new Set(parts)].join(', ');
}

function describeCell(cell, withVersion = false) {
  const {version, config, target} = placeOfCell(cell);
  const where = `${data.configs[config].name} on ${data.targets[target].name}`;
  const cudnn = withVersion ? `, cuDNN ${data.cudnns[version].version}` : '';
  return `${where}${cudnn}: ${describeAnswer(answerOf(cell))}`;
}

/** Targets as columns: families from old to new, GPUs by compute capability. */
function columnOrder() {
  const oldest = new Map();
  for (const {family, sm} of data.targets) oldest.set(family, Math.min(sm, oldest.get(family) ?? sm));
  const rank = (target) => [oldest.get(target.family), target.family, target.sm];
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : a - b);
  return data.targets.map((target, index) => ({index, rank: rank(target)}))
      .sort((a, b) => a.rank.map((value, i) => compare(value, b.rank[i])).find((order) => order !== 0) ?? 0)
      .map(({index}) => index);
}

/**
 * For each config and target: the first version here with a yes, and whether its answer differs between
 * versions.
 */
function readPast() {
  const size = data.configs.length * data.targets.length;
  const first = new Int16Array(size).fill(NEVER);
  const differs = new Uint8Array(size);
  for (let at = 0; at < size; at++) {
    let earlier = null;
    for (let version = 0; version < data.cudnns.length; version++) {
      const answer = data.answers[data.cells[version * size + at]];
      if (!answer) continue;
      if (earlier !== null && earlier !== answer.v) differs[at] = 1;
      if (answer.v === 'yes' && first[at] === NEVER) first[at] = version;
      earlier = answer.v;
    }
  }
  return {first, differs};
}

/** The oldest version here may not be the first with support. */
function sinceWords(version, never = 'never') {
  if (version === NEVER) return never;
  return `${version === 0 ? '≤ ' : ''}${data.cudnns[version].version}`;
}

/** "≤ 9.8.0: H200, B200; 9.14.0: L40S": by GPU, the first version here with a yes. */
function sinceByGpu(past, configs, targets) {
  const groups = new Map();
  for (const target of targets) {
    const firsts = configs.map((config) => past.first[config * data.targets.length + target]);
    const known = firsts.filter((version) => version !== NEVER);
    const first = known.length ? Math.min(...known) : NEVER;
    groups.set(first, [...(groups.get(first) ?? []), shortName(data.targets[target])]);
  }
  const order = [...groups].sort(([a], [b]) => (a === NEVER) - (b === NEVER) || a - b);
  return order.map(([first, names]) => ({first, names}));
}

function shortName(target) { return target.name.replace(/^NVIDIA (GeForce )?/, ''); }
