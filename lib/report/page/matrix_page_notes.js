// Obstacles and notes of cells: framework gates, known bugs, version rules, with the number of shown cells that each
// affects.

/** For each answer, the reasons and notes that filters search. */
function factsOfAnswers() {
  return data.answers.map(
      (answer) => ({reasons: reasonsOf(answer), notes: notesOf(answer).map(({text}) => text)}));
}

/** All notes of the page, without duplicates. */
function allNotes() {
  const notes = new Map();
  for (const answer of data.answers)
    for (const note of notesOf(answer)) notes.set(note.text, note);
  return [...notes.values()];
}

const MOST_NOTES = 60;

function buildNotes(page) {
  page.notes = allNotes();
  byId('notes').hidden = page.notes.length === 0;
}

function showNotes(page) {
  if (!page.notes.length) return;
  const {note} = page.counts;
  const chosen = filters.sets.note;
  const there = page.notes.filter(({text}) => note.get(text) || chosen.has(text))
                    .sort((a, b) => (note.get(b.text) ?? 0) - (note.get(a.text) ?? 0));
  const kinds = new Map();
  for (const {kind} of there) addTo(kinds, kind);
  const words = [...kinds].map(([kind, count]) => `${kindWords(kind)} (${count})`);
  byId('notes-summary').textContent =
      there.length ? `Warnings and gates: ${words.join(', ')}` : 'Warnings and gates: none of these cells';
  const items = there.slice(0, MOST_NOTES).map((one) => noteItem(page, one, note.get(one.text) ?? 0));
  const left = there.length - items.length;
  byId('notes-list')
      .replaceChildren(...items, left > 0 ? element('li', {class: 'muted'}, `… and ${left} more`) : '');
}

function noteItem(page, {kind, text, source}, count) {
  const {note} = filters.sets;
  const toggle = () => {
    if (!note.delete(text)) note.add(text);
    showMatches(page, true);
  };
  return element(
      'li', {},
      element(
          'button', {
            type: 'button',
            class: 'note-button',
            'aria-pressed': String(note.has(text)),
            title: 'Show only these cells',
            click: toggle
          },
          counted(count, 'cell')),
      element(
          'span', {}, element('b', {}, `${kindWords(kind)}: `), text,
          source ? element('small', {class: 'muted'}, ` ${source}`) : null));
}
