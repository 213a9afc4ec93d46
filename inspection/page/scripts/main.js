// The page. In: the document. Out: header, views and panel, drawn.

const VIEWS = [
  { name: 'graph', title: 'Graph', make: graphView },
  { name: 'kernels', title: 'Kernels', make: kernelsView },
  { name: 'memory', title: 'Memory', make: memoryView },
  { name: 'passes', title: 'Passes', make: passesView },
  { name: 'modules', title: 'Modules', make: modulesView },
  { name: 'tensors', title: 'Tensors', make: tensorsView },
  { name: 'texts', title: 'Texts', make: textsView },
];

const WHOLE = new Set(['modules', 'tensors']); // they say nothing of kernels, so they have the whole width

function themeButton() {
  const themes = ['auto', 'light', 'dark'];
  let theme = themes.includes(kept.get('theme')) ? kept.get('theme') : 'auto';
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    const label = `Colours: ${theme === 'auto' ? 'as the system' : theme}`;
    setAttributes(toggle, { 'aria-label': label, title: label });
  };
  const toggle = button(
    {
      class: 'tool',
      id: 'theme',
      onclick: () => {
        theme = themes[(themes.indexOf(theme) + 1) % themes.length];
        kept.set('theme', theme);
        apply();
        announce(toggle.title);
        window.dispatchEvent(new Event('themechange'));
      },
    },
    icon(ICONS.theme),
  );
  apply();
  return toggle;
}

function header(help) {
  const chooser = el(
    'select',
    { id: 'program', 'aria-label': 'Program', onchange: (event) => selectProgram(Number(event.target.value)) },
    DOC.programs.map((p, i) => el('option', { value: i, selected: i === state.program }, p.name)),
  );
  const totals = el('div', { class: 'totals' });
  const { machine } = DOC;
  const on = machine ? `${machine.name}, ${count(machine.threads, 'thread')}` : '';
  const speed =
    machine &&
    `${amount(machine.bandwidth, 'B/s')} from memory, ${Object.entries(machine.flops ?? {})
      .map(([dtype, flops]) => `${amount(flops, 'flop/s')} in ${dtype}`)
      .join(', ')}`;
  const draw = () => {
    const p = program();
    fill(
      totals,
      [
        ['kernels', p.kernels.length],
        [typeof p.seconds === 'number' ? 'a run' : 'predicted', seconds(p.seconds ?? total(p.kernels, (k) => k.predicted))],
        [
          'moved',
          amount(
            total(p.kernels, (k) => k.bytes),
            'B',
          ),
        ],
        [
          'computed',
          amount(
            total(p.kernels, (k) => k.flops),
            'flop',
          ),
        ],
        ['peak', amount(p.memory?.peak_bytes, 'B')],
      ].map(([name, value]) => el('span', { class: 'total' }, el('b', {}, value), ' ', name)),
    );
  };
  if (program()) draw();
  const element = el(
    'header',
    { class: 'top' },
    mark(),
    el('h1', { title: DOC.command ?? '' }, DOC.title),
    DOC.programs.length > 1 ? chooser : null,
    totals,
    el('span', { class: 'grow' }),
    el('span', { class: 'machine muted', title: speed ?? '' }, [DOC.device, on].filter(Boolean).join(' · ')),
    themeButton(),
    button({ class: 'tool', id: 'help', 'aria-label': 'Keys', title: 'Keys (?)', onclick: help }, '?'),
  );
  return { element, changed: (names) => names.has('program') && draw() };
}

/** The sign of the project: threads that cross. */
function mark() {
  return svg(
    'svg',
    { class: 'sign', viewBox: '0 0 20 20', 'aria-hidden': 'true' },
    svg('path', { class: 'warp', d: 'M5 1.5v17M10 1.5v17M15 1.5v17' }),
    svg('path', { class: 'weft', d: 'M1.5 6h2M6.5 6h7M16.5 6h2M1.5 14h2M6.5 14h7M16.5 14h2M1.5 10h7M11.5 10h7' }),
  );
}

function start() {
  recall();
  const followersOf = [];
  const body = el('div', { class: 'main' });
  const empty = !DOC.programs.length;
  const there = VIEWS.filter(({ name }) => (empty ? ['modules', 'tensors'].includes(name) : true));
  const made = new Map();
  if (!there.some(({ name }) => name === state.view)) state.view = there[0].name;

  /** Makes a view when it is first shown; the others wait until they are. */
  function show(name) {
    list.show(name);
    if (!made.has(name)) {
      const view = VIEWS.find((each) => each.name === name).make();
      made.set(name, view);
      body.append(view.element);
      view.started();
    }
    for (const [other, view] of made) view.element.hidden = other !== name;
    work.classList.toggle('whole', WHOLE.has(name));
  }
  const list = tabList({
    label: 'Views',
    tabs: there,
    chosen: state.view,
    choose: (name) => select({ view: name }),
    panel: body,
  });
  const keys = keyboard({ view: (name) => select({ view: name }), views: there, fit: () => made.get('graph')?.fit() });
  const top = header(() => keys.open());
  const panel = empty ? null : panelView();
  const work = el('div', { class: 'work' });
  const side = () =>
    el(
      'aside',
      { class: 'side', 'aria-label': 'Details' },
      splitter('Width of the details', 38, (share) => work.style.setProperty('--panel', `${share}%`)),
      panel.element,
    );
  append(work, [el('main', { class: 'left' }, list.list, body), panel && side()]);
  append(document.body, [top.element, work, el('div', { id: 'announcer', class: 'hidden', 'aria-live': 'polite' }), keys.dialog]);
  follow((names) => {
    if (names.has('view')) show(state.view);
    for (const each of [top, panel, ...made.values()]) each?.changed(names);
  });
  panel?.started();
  show(state.view);
}

start();
