// The user's source. In: a kernel or a line. Out: the files it comes from, with its lines marked; a line leads to its kernels.

/** Files of a kernel with the numbers of its lines. */
function filesOf(k) {
  const files = new Map();
  for (const [file, line] of k.lines) files.set(file, (files.get(file) ?? new Set()).add(line));
  return files;
}

/** How many kernels each line of a file leads to. */
function kernelCounts(p, file) {
  const counts = new Map();
  for (const k of p.kernels) for (const [f, line] of k.lines) if (f === file) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

function sourceView(k) {
  const chosen = el('div', { class: 'chosen', 'aria-live': 'polite' });
  const files = [...filesOf(k)].map(([file, lines]) => sourceFile(k, file, lines, chosen));
  showChosen(chosen);
  return el(
    'div',
    { class: 'sources' },
    chosen,
    files.length ? files : el('p', { class: 'muted' }, 'No line of yours led to this kernel.'),
  );
}

function sourceFile(k, file, lines, chosen) {
  const source = DOC.sources[file];
  const title = el('h3', { class: 'file', title: file }, source?.name ?? file);
  if (!source) {
    const list = [...lines].map((line) => el('li', {}, lineButton([file, line], chosen)));
    return el(
      'section',
      {},
      title,
      el('p', { class: 'muted' }, 'The file could not be read.'),
      el('ul', { class: 'plainlist' }, list),
    );
  }
  const counts = kernelCounts(program(), file);
  const view = codeView(source.lines.join('\n'), 'python', {
    label: `Source ${source.name}`,
    decorate: (row, number) => {
      row.classList.toggle('mine', lines.has(number));
      if (!counts.has(number)) return;
      row.classList.add('leads');
      const text = count(counts.get(number), 'kernel');
      row.append(
        button(
          {
            class: 'linelink',
            'data-line': number,
            'aria-label': `Line ${number}: ${text}`,
            onclick: () => pickLine([file, number], chosen),
          },
          text,
        ),
      );
      row.addEventListener(
        'click',
        (event) => !event.target.closest('button') && !String(getSelection()) && pickLine([file, number], chosen),
      );
    },
  });
  requestAnimationFrame(() => {
    const first = view.querySelector('.mine');
    if (first) scrollTo(view, first);
  });
  return el('section', {}, title, view);
}

function lineButton(line, chosen) {
  return button({ class: 'link', onclick: () => pickLine(line, chosen) }, place(line));
}

function pickLine(line, chosen) {
  selectLine(line);
  keepingFocus(() => showChosen(chosen));
}

/** The kernels of the selected line, as links. */
function showChosen(chosen) {
  chosen.hidden = !state.line;
  if (!state.line) return;
  const links = kernelsOf(state.line).map((index) => {
    const k = program().kernels[index];
    return button(
      { class: 'chip', 'data-kernel': index, onclick: () => select({ kernel: index, node: null }) },
      el('i', { class: `patch kind-${k.kind}` }),
      k.name,
    );
  });
  fill(
    chosen,
    el('strong', {}, place(state.line)),
    ' leads to ',
    links,
    button(
      { class: 'tool', 'aria-label': 'Forget the line', title: 'Forget the line', onclick: () => pickLine(state.line, chosen) },
      icon(ICONS.close),
    ),
  );
}
