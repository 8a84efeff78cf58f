"use strict";
const ROOT = document.currentScript.dataset.root;
const MOST = 40;

// ---- light and dark -------------------------------------------------------------------------------------------------

function stored(theme) {
  // A page opened from disk may have no storage.
  try {
    if (theme) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}
if (stored()) document.documentElement.dataset.theme = stored();
document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  stored(document.documentElement.dataset.theme);
});

// ---- pages on a phone -----------------------------------------------------------------------------------------------

const menu = document.getElementById("menu"), navigation = document.getElementById("navigation");
menu.addEventListener("click", () => menu.setAttribute("aria-expanded", navigation.classList.toggle("open")));
const current = navigation.querySelector("[aria-current]");
if (current && current.offsetTop > navigation.clientHeight * 0.8) navigation.scrollTop = current.offsetTop - navigation.clientHeight / 2;

// ---- search ---------------------------------------------------------------------------------------------------------

const search = document.getElementById("search"), results = document.getElementById("results");
let loading = null;

// A script, because a page opened from disk cannot fetch files; it is loaded at the first search.
function load() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${ROOT}search-index.js`;
    script.onload = () => {
      for (const section of window.searchIndex.sections) section.push(section[2].toLowerCase(), section[3].toLowerCase());
      done();
    };
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
}

// [score, section] of the sections with every word; if no section has all words of a pasted text, of those with most of
// them.
function found(query) {
  const phrase = query.toLowerCase().replace(/\s+/g, " ").trim();
  const words = [...new Set(phrase.split(" "))];
  const scored = [];
  for (const section of window.searchIndex.sections) {
    const [page, , , , heading, text] = section;
    const title = window.searchIndex.pages[page][1].toLowerCase();
    let score = 0, has = 0;
    for (const word of words) {
      const inHeading = heading.includes(word), inTitle = title.includes(word), inText = text.includes(word);
      if (!inHeading && !inText && !inTitle) continue;
      has += inHeading || inText ? 1 : 0.5;
      score += (inHeading ? 8 : 0) + (inTitle ? 3 : 0) + (inText ? 1 : 0);
    }
    if (has < words.length / 2) continue;
    if (heading === phrase) score += 100;
    if (heading.includes(phrase)) score += 20;
    if (text.includes(phrase)) score += 10;
    score += 5 * Math.min(1, 400 / (text.length + 1)); // in a short section, the words are the topic
    scored.push([has >= words.length - 0.5 ? score + 1000 : score + 20 * has, section]);
  }
  const all = scored.filter(([score]) => score >= 1000);
  const best = (all.length ? all : words.length > 3 ? scored : []).sort((a, b) => b[0] - a[0]);
  // Each further section of a page scores less, so that a page with thirty similar sections does not hide other pages.
  const before = new Map();
  for (const one of best) {
    const page = one[1][0], count = before.get(page) ?? 0;
    one[0] -= 2 * count;
    before.set(page, count + 1);
  }
  return best.sort((a, b) => b[0] - a[0]).slice(0, MOST);
}

function marked(text, words) {
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text.split(new RegExp(`(${pattern})`, "i")).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const mark = document.createElement("mark");
    mark.textContent = piece;
    return mark;
  });
}

function row([, [page, anchor, heading, text, , lower]], words, phrase) {
  const [place, label] = window.searchIndex.pages[page];
  const link = document.createElement("a"), title = document.createElement("b"), excerpt = document.createElement("small");
  link.href = `${ROOT}${place}#${anchor}`;
  link.role = "option";
  // If the section has the pasted sentence, marks the whole sentence, not each "is" and "not".
  const shown = lower.includes(phrase) ? [phrase] : words.filter((word, i) => word.length > 2 || i === 0);
  title.append(...marked(heading === label ? label : `${label} › ${heading}`, shown));
  const at = lower.includes(phrase) ? lower.indexOf(phrase) : Math.max(0, ...words.slice(0, 1).map((word) => lower.indexOf(word)));
  const start = Math.max(0, at - 60);
  excerpt.append(...marked((start ? "… " : "") + text.slice(start, start + 220), shown));
  link.append(title, excerpt);
  return link;
}

function show(rows) {
  results.replaceChildren(...rows);
  results.hidden = false;
  search.setAttribute("aria-expanded", "true");
  results.scrollTop = 0;
  select(0);
}

function close() {
  results.hidden = true;
  search.setAttribute("aria-expanded", "false");
}

function select(at) {
  const rows = [...results.querySelectorAll("a")];
  rows.forEach((row, i) => row.setAttribute("aria-selected", i === at));
  rows[at]?.scrollIntoView({ block: "nearest" });
}

function note(text) {
  const line = document.createElement("p");
  line.textContent = text;
  return line;
}

async function update() {
  const query = search.value.trim();
  if (query.length < 2) return close();
  try {
    await load();
  } catch {
    return show([note("search-index.js is missing next to this page")]);
  }
  if (search.value.trim() !== query) return;
  const phrase = query.toLowerCase().replace(/\s+/g, " ");
  const words = phrase.split(" ").sort((a, b) => b.length - a.length);
  const rows = found(query).map((one) => row(one, words, phrase));
  show(rows.length ? rows : [note("No page has these words. `attnprobe explain` reads whole logs and error texts.")]);
}

search.addEventListener("input", update);
search.addEventListener("focus", () => { load().catch(() => {}); if (search.value) update(); });
search.addEventListener("keydown", (event) => {
  const rows = [...results.querySelectorAll("a")], at = rows.findIndex((one) => one.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") select(Math.min(at + 1, rows.length - 1));
  else if (event.key === "ArrowUp") select(Math.max(at - 1, 0));
  else if (event.key === "Enter" && !results.hidden) rows[at]?.click();
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
});
results.addEventListener("click", close);
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) close(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea")) return;
  event.preventDefault();
  search.focus();
});
