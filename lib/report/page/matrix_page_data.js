// What was asked and answered: the payload of the page, and the words for it.

const data = JSON.parse(document.getElementById('data').textContent);

const VERDICTS = {
  yes: {words: 'Yes', symbol: ''},
  but: {words: 'But', symbol: 'but'},
  no: {words: 'No', symbol: '×'},
  invalid_graph: {words: 'Invalid graph', symbol: '∅'},
  error: {words: 'Error', symbol: '!'},
  crashed: {words: 'Crashed', symbol: '†'},
  timeout: {words: 'Timed out', symbol: '∞'},
  wrong_result: {words: 'Wrong result', symbol: '≠'},
  environment: {words: 'Environment', symbol: '?'},
};

const NEVER = -1;

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function')
      node.addEventListener(name, value);
    else if (value === true)
      node.setAttribute(name, '');
    else if (value !== false && value !== null)
      node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== ''));
  return node;
}

function byId(id) { return document.getElementById(id); }

function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

function textAt(index) { return data.texts[index] ?? ''; }

function cellIndex(version, config, target) {
  return (version * data.configs.length + config) * data.targets.length + target;
}

/** null: not asked. */
function answerAt(version, config, target) {
  return data.answers[data.cells[cellIndex(version, config, target)]] ?? null;
}

/** cuDNN takes it, whatever stands in the way. */
function isTaken(answer) { return answer?.v === 'yes' || answer?.v === 'but'; }

function isMet(answer) { return answer.met !== false; }

function wordsOf(verdict) { return VERDICTS[verdict]?.words ?? verdict; }

function symbolOf(answer) {
  if (!answer) return '';
  return answer.v === 'yes' ? String(answer.n) : (VERDICTS[answer.v]?.symbol ?? '!');
}

/** The CSS classes of a cell in the matrix and in the strips by version. */
function classesOf(answer) {
  if (!answer) return 'not-asked';
  const verdict = answer.v in VERDICTS ? answer.v : 'error';
  return `tile ${verdict}${isMet(answer) ? '' : ' unmet'}`;
}

/** "yes, 4 engine configs"; "no, shared_memory, not as expected". */
function describeAnswer(answer) {
  if (!answer) return 'not asked';
  const parts = [wordsOf(answer.v).toLowerCase()];
  for (const [text] of answer.but ?? []) parts.push(textAt(text));
  if (isTaken(answer))
    parts.push(counted(answer.n, 'engine config'));
  else if (answer.category)
    parts.push(answer.category);
  if (!isMet(answer)) parts.push('not as expected');
  return parts.join(', ');
}

function describeCell(version, config, target) {
  const place = `${data.configs[config].name} on ${data.targets[target].name}`;
  return `${place}: ${describeAnswer(answerAt(version, config, target))}`;
}

/** Targets as columns: families from old to new, their GPUs by compute capability. */
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
 * For each config and target: the first version that supports it, and whether its verdict differs between
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
      if (isTaken(answer) && first[at] === NEVER) first[at] = version;
      earlier = answer.v;
    }
  }
  return {first, differs};
}

/** Asked, supported and unexpected cells of a version, and how many have each verdict. */
function countVersion(version) {
  const size = data.configs.length * data.targets.length;
  const counts = {asked: 0, unmet: 0, verdicts: new Map()};
  for (let at = version * size; at < (version + 1) * size; at++) {
    const answer = data.answers[data.cells[at]];
    if (!answer) continue;
    counts.asked++;
    if (!isMet(answer)) counts.unmet++;
    counts.verdicts.set(answer.v, (counts.verdicts.get(answer.v) ?? 0) + 1);
  }
  return counts;
}
