// Modules and their parameters. In: trees of modules. Out: lists that open, each with its share of the parameters.

function modulesView() {
  const draw = () => {
    const roots = DOC.modules ?? [];
    return el(
      'div',
      {},
      roots.length
        ? roots.map((root) => moduleTree(root, root.count))
        : el('p', { class: 'muted' }, 'The program has no modules.'),
    );
  };
  return { element: el('div', { class: 'view scroll modulesview' }, draw()), changed: () => {}, started: () => {} };
}

function moduleTree(root, whole, depth = 0) {
  const head = [
    el('span', { class: 'name' }, root.name || root.kind),
    el('span', { class: 'kind' }, root.name ? root.kind : ''),
    root.detail && el('code', { class: 'muted' }, root.detail),
    el('span', { class: 'grow' }),
    el('span', { class: 'bar', style: { '--share': whole ? root.count / whole : 0 } }),
    el('span', { class: 'value' }, count(root.count, 'parameter')),
  ];
  if (!root.children.length && !root.parameters.length) return el('div', { class: 'module leaf' }, head);
  return el(
    'details',
    { class: 'module', open: depth < 2 },
    el('summary', {}, head),
    parameterTable(root),
    root.children.map((child) => moduleTree(child, whole, depth + 1)),
  );
}

function parameterTable({ parameters, name }) {
  if (!parameters.length) return null;
  return el(
    'table',
    { class: 'grid parameters' },
    el('caption', { class: 'hidden' }, `Parameters of ${name}`),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        ['Parameter', 'Value', 'Count', ''].map((title, i) =>
          i < 3 ? el('th', { scope: 'col', class: i === 2 ? 'number' : '' }, title) : el('td', {}),
        ),
      ),
    ),
    el(
      'tbody',
      {},
      parameters.map((p) =>
        el(
          'tr',
          {},
          el('th', { scope: 'row' }, p.name),
          el('td', {}, el('code', {}, typed(p))),
          el('td', { class: 'number' }, p.count.toLocaleString('en')),
          el('td', { class: 'muted' }, p.trainable ? '' : 'not trained'),
        ),
      ),
    ),
  );
}
