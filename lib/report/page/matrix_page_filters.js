// What is shown: text, menus and switches, and their form in the page's address.

const filters = {
  text: '',
  sets: {
    pattern: new Set(),
    pass: new Set(),
    dtype: new Set(),
    verdict: new Set(),
    category: new Set(),
    gpu: new Set()
  },
  switches: {unexpected: false, differs: false},
};

const CONFIG_FIELDS = ['pattern', 'pass', 'dtype'];

function resetFilters() {
  filters.text = '';
  for (const set of Object.values(filters.sets)) set.clear();
  for (const name of Object.keys(filters.switches)) filters.switches[name] = false;
}

function anyFilter() {
  return filters.text !== '' || Object.values(filters.sets).some((set) => set.size > 0) || anySwitch();
}

function anySwitch() { return Object.values(filters.switches).some(Boolean); }

/** Whether a filter looks at answers, not only at configs and GPUs. */
function filtersAnswers() {
  return filters.sets.verdict.size > 0 || filters.sets.category.size > 0 || anySwitch();
}

function allows(set, value) { return set.size === 0 || set.has(value); }

function haystackOf(config) { return `${config.name} ${config.summary}`.toLowerCase(); }

/** A test of a config, whose `haystack` is its name and summary. */
function configTest() {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  return (config, haystack) => words.every((word) => haystack.includes(word)) &&
      CONFIG_FIELDS.every((field) => allows(filters.sets[field], config[field]));
}

/** A test of an asked cell. */
function answerTest(past) {
  const {verdict, category} = filters.sets;
  const {unexpected, differs} = filters.switches;
  return (answer, config, target) => allows(verdict, answer.v) && allows(category, answer.category) &&
      (!unexpected || !isMet(answer)) &&
      (!differs || past.differs[config * data.targets.length + target] === 1);
}

/** The page's address holds lists of names: "dtype=bf16,f16&cell=gpt2,h200,9.19.0". */
function readFragment() {
  const lists = {};
  for (const part of location.hash.slice(1).split('&')) {
    const [key, value = ''] = part.split(/=(.*)/s);
    lists[key] = value.split(',').map(decoded);
  }
  return lists;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function takeFilters(lists) {
  resetFilters();
  filters.text = lists.text?.[0] ?? '';
  for (const [name, set] of Object.entries(filters.sets))
    for (const value of lists[name] ?? []) set.add(value);
  for (const name of Object.keys(filters.switches)) filters.switches[name] = name in lists;
}

function filterLists() {
  const lists = {};
  if (filters.text) lists.text = [filters.text];
  for (const [name, set] of Object.entries(filters.sets))
    if (set.size) lists[name] = [...set];
  for (const [name, on] of Object.entries(filters.switches))
    if (on) lists[name] = ['yes'];
  return lists;
}

function writeFragment(lists) {
  const parts =
      Object.entries(lists).map(([key, values]) => `${key}=${values.map(encodeURIComponent).join(',')}`);
  history.replaceState(null, '', parts.length ? `#${parts.join('&')}` : location.pathname + location.search);
}

/** The controls. `changed` is called after every change of `filters`; the result shows their state again. */
function buildFilters(form, columns, changed) {
  const search = buildSearch(changed);
  const choices =
      menuChoices(columns).filter(({groups}) => groups.flatMap((group) => group.values).length > 1);
  const menus = choices.map((choice) => buildMenu(choice, changed));
  const switches = [buildSwitch('unexpected', 'Not as expected', changed)];
  if (data.cudnns.length > 1) switches.push(buildSwitch('differs', 'Differs between versions', changed));
  const reset = element('button', {type: 'button', id: 'reset'}, 'Reset');
  reset.addEventListener('click', () => {
    resetFilters();
    changed();
    search.focus();
  });
  const labels = [...menus.map((menu) => menu.button), ...switches.map((one) => one.label)];
  form.append(search, element('div', {class: 'controls'}, labels, reset));
  form.addEventListener('submit', (event) => event.preventDefault());
  document.body.append(...menus.map((menu) => menu.panel));
  return () => {
    if (search.value.trim() !== filters.text) search.value = filters.text;
    for (const control of [...menus, ...switches]) control.refresh();
    reset.disabled = !anyFilter();
  };
}

function buildSearch(changed) {
  const search = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Filter configs',
    'aria-label': 'Filter configs by name or summary',
    autocomplete: 'off',
    spellcheck: 'false'
  });
  search.addEventListener('input', () => {
    filters.text = search.value.trim();
    changed();
  });
  return search;
}

function menuChoices(columns) {
  const ofConfigs = (field) => [{values: distinct(data.configs.map((config) => config[field]))}];
  const ofAnswers = (field) => [{values: distinct(data.answers.map((answer) => answer[field]))}];
  return [
    ...CONFIG_FIELDS.map(
        (field) => ({name: field, title: field[0].toUpperCase() + field.slice(1), groups: ofConfigs(field)})),
    {name: 'verdict', title: 'Verdict', groups: ofAnswers('v'), label: wordsOf},
    {name: 'category', title: 'Category', groups: ofAnswers('category')},
    {name: 'gpu', title: 'GPUs', groups: familyGroups(columns), label: targetName},
  ];
}

function distinct(values) { return [...new Set(values.filter(Boolean))].sort(); }

function familyGroups(columns) {
  const groups = new Map();
  for (const target of columns.map((column) => data.targets[column]))
    groups.set(target.family, [...(groups.get(target.family) ?? []), target.id]);
  return [...groups].map(([title, values]) => ({title, values}));
}

function targetName(id) { return data.targets.find((target) => target.id === id)?.name ?? id; }

function buildCheckbox(words, changed, attributes = {}) {
  const input = element('input', {type: 'checkbox', ...attributes, change: () => changed(input.checked)});
  return {input, label: element('label', {}, input, words)};
}

function buildSwitch(name, title, changed) {
  const change = (on) => {
    filters.switches[name] = on;
    changed();
  };
  const {input, label} = buildCheckbox(title, change, {id: `switch-${name}`});
  label.className = 'switch';
  const refresh = () => {
    input.checked = filters.switches[name];
  };
  return {label, refresh};
}

function buildMenu({name, title, groups, label = (value) => value}, changed) {
  const set = filters.sets[name];
  const boxes = groups.map((group) => buildGroup(set, group, label, changed));
  const panel = element(
      'div', {popover: 'auto', id: `menu-${name}`, class: 'menu', role: 'group', 'aria-label': title},
      boxes.map((box) => box.node));
  const button = element('button', {type: 'button', popovertarget: panel.id, class: 'menu-button'});
  panel.addEventListener('beforetoggle', () => placeUnder(panel, button));
  const refresh = () => {
    button.textContent =
        set.size === 0 ? title : `${title}: ${set.size === 1 ? label([...set][0]) : set.size}`;
    button.classList.toggle('active', set.size > 0);
    for (const box of boxes) box.refresh();
  };
  return {button, panel, refresh};
}

function placeUnder(panel, button) {
  const place = button.getBoundingClientRect();
  const width = parseFloat(getComputedStyle(panel).width);
  panel.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8)) + scrollX}px`;
  panel.style.top = `${place.bottom + 4 + scrollY}px`;
}

/** Checkboxes of values, under one for all of them where the group has a title. */
function buildGroup(set, {title, values}, label, changed) {
  const change = (chosen, on) => {
    for (const value of chosen) on ? set.add(value) : set.delete(value);
    changed();
  };
  const boxes = values.map((value) => buildCheckbox(label(value), (on) => change([value], on), {value}));
  const whole = buildCheckbox(title ?? '', (on) => change(values, on));
  whole.label.className = 'menu-title';
  const node = element('div', {class: 'menu-group', role: 'group', 'aria-label': title ?? null});
  node.append(...(title ? [whole.label] : []), ...boxes.map((box) => box.label));
  const refresh = () => {
    for (const {input} of boxes) input.checked = set.has(input.value);
    const chosen = values.filter((value) => set.has(value)).length;
    whole.input.checked = chosen === values.length;
    whole.input.indeterminate = chosen > 0 && chosen < values.length;
  };
  return {node, refresh};
}
