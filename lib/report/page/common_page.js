// Shared by the pages: elements, theme, address, files to save. The address of a page is its state, so it reopens the
// same view.

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

// ---- the address: lists of names, "dtype=bf16,f16&cell=gpt2,h200,9.19.0"

function readFragment() {
  const lists = {};
  for (const part of location.hash.slice(1).split('&').filter(Boolean)) {
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

function fragmentOf(lists) {
  return Object.entries(lists)
      .map(([key, values]) => `${key}=${values.map(encodeURIComponent).join(',')}`)
      .join('&');
}

/** A step can be undone with the browser's back button; typing is not a step. */
function writeFragment(fragment, isStep, state = null) {
  if (`#${fragment}` === (location.hash || '#')) return;
  const address = fragment ? `#${fragment}` : location.pathname + location.search;
  if (isStep)
    history.pushState(state, '', address);
  else
    history.replaceState(history.state, '', address);
}

// ---- the theme: from the address, otherwise the one chosen here before, otherwise the system's

const theme = {
  named: null,  // set by the address or the button
  stored: null
};
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

function isDark() {
  return (theme.named ?? theme.stored ?? (systemIsDark.matches ? 'dark' : 'light')) === 'dark';
}

function nameTheme(name) {
  theme.named = name === 'dark' || name === 'light' ? name : null;
  showTheme();
}

function showTheme() {
  const shown = theme.named ?? theme.stored;
  if (shown)
    document.documentElement.dataset.theme = shown;
  else
    delete document.documentElement.dataset.theme;
  byId('theme').textContent = isDark() ? 'Light theme' : 'Dark theme';
  dispatchEvent(new Event('themechange'));
}

/** `changed` writes the address. If storage is forbidden, the choice lasts only as long as the page. */
function buildTheme(changed) {
  theme.stored = withStorage((storage) => storage.getItem('attnprobe-theme'));
  byId('theme').addEventListener('click', () => {
    const name = isDark() ? 'light' : 'dark';
    theme.stored = name;
    withStorage((storage) => storage.setItem('attnprobe-theme', name));
    nameTheme(name);
    changed();
  });
  systemIsDark.addEventListener('change', showTheme);
  showTheme();
}

function withStorage(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

// ---- files to save, and texts to copy

function saveFile(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = element('a', {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** RFC 4180; text that a spreadsheet would run as a formula begins with an apostrophe. */
function csvText(rows) {
  const field = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    const isFormula = /^[=+\-@\t\r\n]/.test(text) && !Number.isFinite(Number(text));
    const safe = isFormula ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

/** "attention-of-today.csv" */
function fileName(title, ending) {
  const words = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60);
  return `${words || 'attnprobe'}.${ending}`;
}

/** Words are not broken: no line break inside "--target". */
function commandBox(command) {
  const words = command.split(' ').flatMap((word) => [' ', element('span', {}, word)]);
  const code = element('code', {}, words.slice(1));
  const button =
      element('button', {type: 'button', class: 'copy', click: () => copyText(code, button)}, 'Copy');
  return element('div', {class: 'command'}, code, button);
}

/** If the clipboard is not writable, selects the text instead. */
async function copyText(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = 'Selected: press Ctrl+C';
  }
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 2000);
}
