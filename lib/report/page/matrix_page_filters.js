// The filters: text, menus and switches, and their form in the page's address.

const filters = {
  text: '',
  sets: {
    pattern: new Set(),
    pass: new Set(),
    dtype: new Set(),
    verdict: new Set(),
    category: new Set(),
    gpu: new Set(),
    note: new Set()
  },
  switches: {unexpected: false, differs: false},
};

function resetFilters() {
  filters.text = '';
  for (const set of Object.values(filters.sets)) set.clear();
  for (const name of Object.keys(filters.switches)) filters.switches[name] = false;
}

function anyFilter() {
  return filters.text !== '' || Object.values(filters.sets).some((set) => set.size > 0) || anySwitch();
}

function anySwitch() { return Object.values(filters.switches).some(Boolean); }

/** Whether a filter depends on answers, not only on configs and GPUs. */
function filtersAnswers() {
  const {verdict, category, note} = filters.sets;
  return verdict.size > 0 || category.size > 0 || note.size > 0 || anySwitch();
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

/**
 * The controls. `changed(isStep)` is called after every change of `filters`; the result shows their state
 * again, with counts.
 */
function buildFilters(form, columns, changed) {
  const search = buildSearch(changed);
  const step = () => changed(true);
  const choices =
      menuChoices(columns).filter(({groups}) => groups.flatMap((group) => group.values).length > 1);
  const menus = choices.map((choice) => buildMenu(choice, step));
  const switches = [];
  if (data.answers.some((answer) => !isMet(answer)))
    switches.push(buildSwitch('unexpected', 'Not as expected', step));
  if (data.cudnns.length > 1) switches.push(buildSwitch('differs', 'Differs between versions', step));
  const reset = element('button', {type: 'button', id: 'reset'}, 'Reset');
  reset.addEventListener('click', () => {
    resetFilters();
    step();
    search.focus();
  });
  const labels = [...menus.map((menu) => menu.button), ...switches.map((one) => one.label)];
  form.append(search, element('div', {class: 'controls'}, labels, reset));
  form.addEventListener('submit', (event) => event.preventDefault());
  document.body.append(...menus.map((menu) => menu.panel));
  return (counts) => {
    if (search.value.trim() !== filters.text) search.value = filters.text;
    for (const control of [...menus, ...switches]) control.refresh(counts);
    reset.disabled = !anyFilter();
  };
}

function buildSearch(changed) {
  const search = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Filter configs, or mask=causal',
    'aria-label': 'Filter configs by name, summary or field',
    autocomplete: 'off',
    spellcheck: 'false'
  });
  search.addEventListener('input', () => {
    filters.text = search.value.trim();
    changed(false);
  });
  return search;
}

function menuChoices(columns) {
  const ofConfigs = (field) => [{values: distinct(data.configs.map((config) => config[field]))}];
  const known = Object.keys(VERDICTS);
  const verdicts = distinct(data.answers.map(({v}) => v)).sort((a, b) => known.indexOf(a) - known.indexOf(b));
  return [
    ...OF_CONFIGS.map(
        (field) => ({name: field, title: field[0].toUpperCase() + field.slice(1), groups: ofConfigs(field)})),
    {name: 'verdict', title: 'Answer', groups: [{values: verdicts}], label: wordsOf},
    {name: 'category', title: 'Why not', groups: reasonGroups(), label: kindWords},
    {name: 'gpu', title: 'GPUs', groups: familyGroups(columns), label: targetName},
  ];
}

function reasonGroups() {
  const kinds = distinct(data.answers.flatMap(({but}) => (but ?? []).map(([kind]) => kind)));
  const categories =
      distinct(data.answers.map(({category}) => category)).filter((one) => !kinds.includes(one));
  return [{title: 'obstacle', values: kinds}, {title: 'refused', values: categories}].filter(
      ({values}) => values.length);
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
  const count = element('small', {class: 'choice-count'});
  return {input, count, label: element('label', {}, input, element('span', {}, words), count)};
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
  const refresh = (counts) => {
    button.textContent =
        set.size === 0 ? title : `${title}: ${set.size === 1 ? label([...set][0]) : set.size}`;
    button.classList.toggle('active', set.size > 0);
    for (const box of boxes) box.refresh(counts[name]);
  };
  return {button, panel, refresh};
}

function placeUnder(panel, button) {
  const place = button.getBoundingClientRect();
  const width = parseFloat(getComputedStyle(panel).width);
  panel.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8)) + scrollX}px`;
  panel.style.top = `${place.bottom + 4 + scrollY}px`;
}

/**
 * Checkboxes of values with how many cells each would show, under one for all of them where the group has a
 * title.
 */
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
  const refresh = (counts) => {
    for (const {input, count} of boxes) {
      input.checked = set.has(input.value);
      count.textContent = (counts.get(input.value) ?? 0).toLocaleString('en');
    }
    const chosen = values.filter((value) => set.has(value)).length;
    whole.input.checked = chosen === values.length;
    whole.input.indeterminate = chosen > 0 && chosen < values.length;
  };
  return {node, refresh};
}
