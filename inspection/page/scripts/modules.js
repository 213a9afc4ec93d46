// Modules and what they hold. In: trees of modules, times of kernels. Out: a table whose rows open, each with its share of both.

const OPEN = 3; // levels that are there at first

const LAYERS = [
  { title: 'Layer', show: layerName },
  { title: 'Returns, holds', show: ({ output, value }) => value ?? output, kind: 'shape' },
  { title: 'Time', show: taken, kind: 'number', share: ({ time, whole }) => time / whole.time },
  { title: 'Parameters', show: counted, kind: 'number', share: ({ count: number, whole }) => number / whole.count },
];

function modulesView() {
  const element = el('div', { class: 'view scroll modulesview' });
  const draw = () => fill(element, DOC.modules.map(moduleTable), el('p', { class: 'muted' }, timeNote()));
  return { element, changed: (names) => names.has('program') && draw(), started: draw };
}

function timeNote() {
  if (!program()?.kernels.some((k) => k.layer)) return '';
  const times = derive(program()).measured ? 'Times' : 'Predicted times';
  return `${times} are those of ${program().name}: of the kernels that read what a layer holds, or stand between such.`;
}

function moduleTable(root, place) {
  const rows = [];
  collect(root, 0, rows, place, '');
  const whole = { count: root.count || 1, time: Math.max(rows[0].time, 1e-12) };
  const columns = LAYERS.filter(({ title }) => title !== 'Time' || rows.some(({ time }) => time));
  const drawn = rows.map((row) => moduleRow({ ...row, whole }, columns));
  const show = () => {
    const shut = []; // depths of closed rows around
    rows.forEach(({ depth }, i) => {
      while (shut.length && shut.at(-1) >= depth) shut.pop();
      drawn[i].hidden = shut.length > 0;
      if (drawn[i].querySelector('[aria-expanded=false]')) shut.push(depth);
    });
  };
  const table = el(
    'table',
    {
      class: 'grid modules',
      onclick: (event) => {
        const toggle = event.target.closest('tr')?.querySelector('[aria-expanded]');
        if (!toggle || String(getSelection())) return;
        toggle.setAttribute('aria-expanded', String(toggle.getAttribute('aria-expanded') === 'false'));
        show();
      },
    },
    el('caption', { class: 'hidden' }, `Layers of ${root.name}`),
    el('thead', {}, el('tr', {}, columns.map(({ title, kind }) => el('th', { scope: 'col', class: kind }, title)))),
    el('tbody', {}, drawn),
  );
  show();
  return table;
}

/** Rows of a module, of what it holds, and of the modules below; `place` is that of the tree, `path` leads down from its root. */
function collect(layer, depth, rows, place, path) {
  const held = [...layer.parameters, ...(layer.buffers ?? [])].map((each) => ({ ...each, value: typed(each), depth: depth + 1 }));
  const inside = (k) => k.layer?.[0] === place && `${k.layer[1]}.`.startsWith(path);
  const time = total((program()?.kernels ?? []).filter(inside), timeOf);
  rows.push({ ...layer, isLayer: true, depth, time, parts: held.length + layer.children.length });
  rows.push(...held);
  for (const child of layer.children) collect(child, depth + 1, rows, place, `${path}${child.name}.`);
}

function moduleRow(row, columns) {
  const cells = columns.map(({ show, kind, share }, i) =>
    el(
      i ? 'td' : 'th',
      {
        scope: i ? null : 'row',
        class: [kind, share && 'barcell'].filter(Boolean).join(' '),
        style: share && row.isLayer ? { '--share': share(row) || 0 } : {},
      },
      show(row),
    ),
  );
  return el('tr', { class: row.isLayer ? 'module' : 'parameter', style: { '--depth': row.depth } }, cells);
}

/** What stands in the first column: the name and what kind of layer it is, or the name of a parameter and its state. */
function layerName({ isLayer, name, kind, detail, shared, trainable, parts, depth }) {
  const same = shared && `is ${shared}`;
  if (!isLayer) {
    const state = kind === 'buffer' ? 'buffer' : trainable ? '' : 'not trained';
    return [el('span', { class: 'name' }, name), ' ', [state, same].filter(Boolean).join(', ')];
  }
  const open = String(depth < OPEN - 1);
  return [
    parts ? button({ class: 'toggle', 'aria-expanded': open, 'aria-label': name || kind }) : null,
    el('span', { class: 'name' }, name || kind),
    ' ',
    name && name !== kind && el('span', { class: 'kind' }, kind),
    ' ',
    el('code', { class: 'muted' }, [detail, same].filter(Boolean).join(', ')),
  ];
}

function taken({ time }) {
  return time ? seconds(time) : '';
}

function counted({ count: number, shared }) {
  return shared ? '' : number.toLocaleString('en');
}
