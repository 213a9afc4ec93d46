// The page. In: the document. Out: header, views and panel, drawn.

const VIEWS = [
  { name: 'graph', title: 'Graph', make: graphView },
  { name: 'kernels', title: 'Kernels', make: kernelsView },
  { name: 'memory', title: 'Memory', make: memoryView },
  { name: 'passes', title: 'Passes', make: passesView },
  { name: 'modules', title: 'Modules', make: modulesView, of: 'modules' },
  { name: 'tensors', title: 'Tensors', make: tensorsView, of: 'tensors' },
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
  const { machine } = DOC;
  const on = machine ? `${machine.name}, ${count(machine.threads, 'thread')}` : '';
  const speed =
    machine &&
    `${amount(machine.bandwidth, 'B/s')} from memory, ${Object.entries(machine.flops ?? {})
      .map(([dtype, flops]) => `${amount(flops, 'flop/s')} in ${dtype}`)
      .join(', ')}`;
  const element = el(
    'header',
    { class: 'top' },
    mark(),
    el('h1', { title: DOC.command ?? '' }, DOC.title),
    DOC.programs.length > 1 ? chooser : null,
    el('span', { class: 'grow' }),
    el('span', { class: 'machine muted', title: speed ?? '' }, [DOC.device, on].filter(Boolean).join(' · ')),
    themeButton(),
    button({ class: 'tool', id: 'help', 'aria-label': 'Keys', title: 'Keys (?)', onclick: help }, '?'),
  );
  return element;
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

/** The views that the document has something for, each made when it is first shown. */
function viewsOf(body) {
  const there = VIEWS.filter(({ of }) => DOC[of ?? 'programs']?.length);
  const made = new Map();
  const show = (name) => {
    if (!made.has(name)) {
      const view = VIEWS.find((each) => each.name === name).make();
      made.set(name, view);
      body.append(view.element);
      view.started();
    }
    for (const [other, view] of made) view.element.hidden = other !== name;
  };
  return { there, made, show };
}

/** Views on the left, details on the right. */
function workArea(views, body) {
  const choose = (name) => select({ view: name });
  const list = tabList({ label: 'Views', tabs: views.there, chosen: state.view, choose, panel: body });
  const panel = DOC.programs.length ? panelView() : null;
  const element = el('div', { class: 'work' }, el('main', { class: 'left' }, list.list, body));
  if (panel) {
    const bar = splitter('Width of the details', 38, (share) => element.style.setProperty('--panel', `${share}%`));
    element.append(el('aside', { class: 'side', 'aria-label': 'Details' }, bar, panel.element));
  }
  const show = () => {
    list.show(state.view);
    views.show(state.view);
    element.classList.toggle('whole', WHOLE.has(state.view));
    element.dataset.view = state.view;
  };
  return { element, panel, show };
}

function start() {
  recall();
  const body = el('div', { class: 'main' });
  const views = viewsOf(body);
  const { there } = views;
  if (!there.length)
    return append(document.body, [el('main', { class: 'notice' }, el('h1', {}, DOC.title), 'Nothing was computed.')]);
  if (!there.some(({ name }) => name === state.view)) state.view = there[0].name;
  const work = workArea(views, body);
  const act = { view: (name) => select({ view: name }), views: there, fit: () => views.made.get('graph')?.fit() };
  const keys = keyboard(act);
  const top = header(keys.open);
  const announcer = el('div', { id: 'announcer', class: 'hidden', 'aria-live': 'polite' });
  append(document.body, [top, work.element, announcer, keys.dialog]);
  follow((names) => {
    if (names.has('view')) work.show();
    for (const each of [work.panel, ...views.made.values()]) each?.changed(names);
  });
  work.panel?.started();
  return work.show();
}

start();
