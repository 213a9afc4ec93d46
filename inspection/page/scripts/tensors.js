// Storage and strides. In: steps that view one storage. Out: cells of each, and of the storage, which light up together.

function tensorsView() {
  const element = el('div', { class: 'view scroll tensorsview' }, DOC.tensors.map(tensorStory));
  return { element, changed: () => {}, started: () => {} };
}

function tensorStory({ title, steps }) {
  return el('section', {}, el('h2', {}, title), el('div', { class: 'steps' }, steps.map(tensorStep)));
}

function tensorStep(step) {
  const cells = [];
  const storage = step.storage.map((value, position) =>
    cellOf(cells, value, position, step.storage.length, `storage ${position}: ${value}`),
  );
  const values = step.cells.map(([index, position]) => [
    index,
    cellOf(
      cells,
      step.storage[position],
      position,
      step.storage.length,
      `[${index.join(', ')}] at ${position}: ${step.storage[position]}`,
    ),
  ]);
  const element = el(
    'article',
    { class: 'tensor' },
    el('h3', {}, el('code', {}, step.expression)),
    facts([
      ['Shape', el('code', {}, `[${step.shape.join(', ')}]`)],
      ['Strides', el('code', {}, `[${step.strides.join(', ')}]`)],
      ['Offset', step.offset],
      ['Contiguous', step.contiguous ? 'yes' : 'no'],
      ['Memory', step.note ?? (step.shares ? 'shared with the first' : 'its own')],
    ]),
    el('div', { class: 'cells' }, grids(step.shape, values)),
    el('div', { class: 'muted' }, 'Storage'),
    el('div', { class: 'storage' }, storage),
  );
  const light = (event, on) => {
    const cell = event.target.closest?.('.cell');
    if (cell) for (const each of cells) each.classList.toggle('lit', on && each.dataset.position === cell.dataset.position);
  };
  for (const [name, on] of [
    ['pointerover', true],
    ['pointerout', false],
    ['focusin', true],
    ['focusout', false],
  ])
    element.addEventListener(name, (event) => light(event, on));
  for (const group of [values.map(([, cell]) => cell), storage])
    if (group.length) roving(group[0].parentElement.closest('.cells, .storage'), group, () => {});
  return element;
}

/** A cell whose colour tells its place in the storage. */
function cellOf(cells, value, position, length, label) {
  const shown = typeof value === 'number' ? digits(value) : String(value);
  const cell = el(
    'span',
    {
      class: 'cell',
      role: 'img',
      'data-position': position,
      'aria-label': label,
      title: label,
      style: { '--place': length > 1 ? position / (length - 1) : 0 },
    },
    shown,
  );
  cells.push(cell);
  return cell;
}

/** The last two axes as rows and columns; each index before them has a grid of its own. */
function grids(shape, values) {
  const byBlock = new Map();
  for (const [index, cell] of values) {
    const key = index.slice(0, -2).join(', ');
    byBlock.set(key, [...(byBlock.get(key) ?? []), cell]);
  }
  return [...byBlock].map(([key, cells]) =>
    el(
      'div',
      { class: 'gridbox' },
      key && el('div', { class: 'muted' }, `[${key}]`),
      el('div', { class: 'cellgrid', style: { '--columns': shape.at(-1) ?? 1 } }, cells),
    ),
  );
}
