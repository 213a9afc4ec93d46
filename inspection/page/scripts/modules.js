// Modules and what they hold. In: trees of modules. Out: lists that open, each with its share of the parameters.

const OPEN = 2; // levels that are open at first

function modulesView() {
  const trees = DOC.modules.map((root) => moduleTree(root, root.count, 0));
  return { element: el('div', { class: 'view scroll modulesview' }, el('div', {}, trees)), changed: () => {}, started: () => {} };
}

function moduleTree(layer, whole, depth) {
  const head = moduleHead(layer, whole);
  const held = [...layer.parameters, ...(layer.buffers ?? [])];
  if (!layer.children.length && !held.length) return el('div', { class: 'module leaf' }, head);
  return el(
    'details',
    { class: 'module', open: depth < OPEN },
    el('summary', {}, head),
    held.length > 0 && heldTable(layer, held),
    layer.children.map((child) => moduleTree(child, whole, depth + 1)),
  );
}

function moduleHead({ name, kind, detail, count: number, output, shared }, whole) {
  return [
    el('span', { class: 'name' }, name || kind),
    name && name !== kind && el('span', { class: 'kind' }, kind),
    detail && el('code', { class: 'muted' }, detail),
    shared && el('span', { class: 'muted' }, `is ${shared}`),
    el('span', { class: 'grow' }),
    output && el('code', {}, `→ ${output}`),
    el('span', { class: 'bar', style: { '--share': whole ? number / whole : 0 } }),
    el('span', { class: 'value' }, count(number, 'parameter')),
  ];
}

function heldTable({ name }, held) {
  const titles = ['Parameter', 'Value', 'Count', 'Note'];
  const header = titles.map((title) => el('th', { scope: 'col', class: title === 'Count' ? 'number' : '' }, title));
  const rows = held.map((each) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, each.name),
      el('td', {}, el('code', {}, typed(each))),
      el('td', { class: 'number' }, each.count.toLocaleString('en')),
      el('td', { class: 'muted' }, heldNote(each)),
    ),
  );
  const caption = el('caption', { class: 'hidden' }, `What ${name} holds`);
  return el('table', { class: 'grid parameters' }, caption, el('thead', {}, el('tr', {}, header)), el('tbody', {}, rows));
}

function heldNote({ kind, trainable, shared }) {
  const state = kind === 'buffer' ? 'buffer' : trainable ? '' : 'not trained';
  return [state, shared && `is ${shared}`].filter(Boolean).join(', ');
}
