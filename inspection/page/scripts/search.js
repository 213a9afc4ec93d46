// Finding kernels and operations. In: words. Out: a list to choose from, by the combobox pattern.

const MOST_FOUND = 30;

/** What a word may be found in, for each kernel and node. */
function searchable(p) {
  const kernels = p.kernels.map((k) => ({
    text: `${k.name} ${k.kind} ${k.lines.map(place).join(' ')}`.toLowerCase(),
    title: k.name,
    kernel: k.index,
    detail: k.kind,
    choose: () => selectKernel(k.index),
  }));
  const nodes = p.nodes.map((n, i) => ({
    text: `${n.label} ${n.op} ${typed(n)} ${n.line ? place(n.line) : ''}`.toLowerCase(),
    title: n.label,
    node: i,
    detail: `${typed(n)}${n.line ? `  ${place(n.line)}` : ''}`,
    choose: () => selectNode(i),
  }));
  return [...kernels, ...nodes];
}

/** Entries that have every word. */
function found(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? entries.filter((entry) => words.every((word) => entry.text.includes(word))) : [];
}

/** @param {{chosen: () => void, matching: (entries: object[]) => void}} tell */
function searchBox({ chosen, matching }) {
  const list = el('ul', { role: 'listbox', id: freshId('found'), class: 'found', 'aria-label': 'Found', hidden: true });
  const input = el('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Search',
    role: 'combobox',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Search kernels and operations',
    'aria-expanded': 'false',
    'aria-controls': list.id,
    'aria-autocomplete': 'list',
  });
  let entries = [];
  let shown = [];
  let active = -1;

  function show(all) {
    shown = all.slice(0, MOST_FOUND);
    active = -1;
    fill(
      list,
      shown.map((entry, i) =>
        el(
          'li',
          {
            role: 'option',
            id: `${list.id}-${i}`,
            'aria-selected': 'false',
            onpointerdown: (event) => {
              event.preventDefault();
              choose(i);
            },
          },
          el('span', { class: 'title' }, entry.title),
          ' ',
          el('span', { class: 'muted' }, entry.detail),
        ),
      ),
    );
    if (input.value.trim() && !all.length)
      list.append(
        el('li', { class: 'nothing', role: 'option', 'aria-selected': 'false', 'aria-disabled': 'true' }, 'Nothing found'),
      );
    list.hidden = !input.value.trim();
    input.setAttribute('aria-expanded', String(!list.hidden));
    input.removeAttribute('aria-activedescendant');
    matching(all);
    if (input.value.trim()) announce(`${all.length} found`);
  }

  function move(to) {
    if (!shown.length) return;
    active = (to + shown.length) % shown.length;
    [...list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === active)));
    list.children[active].scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', list.children[active].id);
  }

  function choose(i) {
    close();
    shown[i].choose();
    chosen();
  }

  function close() {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
  }

  input.addEventListener('input', () => {
    if (!entries.length) entries = searchable(program());
    show(found(entries, input.value));
  });
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') move(active + 1);
    else if (event.key === 'ArrowUp') move(active - 1);
    else if (event.key === 'Enter' && shown.length) choose(Math.max(active, 0));
    else if (event.key === 'Escape' && input.value) {
      input.value = '';
      show([]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const forget = () => {
    entries = [];
    input.value = '';
    show([]);
  };
  return { box: el('div', { class: 'search' }, input, list), forget };
}
