// The view of the graph. In: the program that is shown. Out: a picture to move over, with tools, a legend and a small map.

const FEW = 160; // nodes up to which operations are shown at first

function graphView() {
  const world = svg('g');
  const canvas = svg('svg', { class: 'canvas' }, world);
  const host = el(
    'div',
    {
      class: 'stage',
      tabindex: '0',
      role: 'application',
      'aria-roledescription': 'graph',
      'aria-label':
        'Graph: arrows move between kernels, Enter selects, Enter again goes to operations, Escape goes back, + and - zoom',
    },
    canvas,
  );
  const legend = el('div', { class: 'keyrow legend' });
  const nothing = el('p', { class: 'nothinghere muted' }, 'Nothing is known of its graph: the program was only listed.');
  const map = el('div', { class: 'mapbox' });
  const level = levelSwitch((name) => show(name));
  const scaleText = el('output', { class: 'muted', 'aria-label': 'Zoom' });
  const search = searchBox({ chosen: () => host.focus(), matching: markMatches });
  let drawing = null;
  let minimap = null;
  let matches = matchesOf([]);
  let unseen = false; // drawn while another view was shown, so that there was no room to fit into

  const viewport = viewportOf(host, world, {
    changed: () => {
      if (!drawing) return;
      if (drawing.update(viewport.inView(), viewport.at.scale)) marks();
      map.hidden = seesAll(viewport.inView(), drawing.picture);
      scaleText.textContent = `${Math.round(viewport.at.scale * 100)} %`;
      minimap.draw();
    },
    clicked: (target, twice) => {
      const node = target?.closest('[data-node]');
      const group = target?.closest('[data-group]');
      const box = group && drawing.picture.groups[Number(group.dataset.group)];
      if (twice && box) viewport.show(box, 1.2);
      else if (twice) return;
      else if (node) selectNode(Number(node.dataset.node));
      else if (group && drawing.groups[Number(group.dataset.group)] !== null)
        selectKernel(drawing.groups[Number(group.dataset.group)]);
      else selectKernel(null);
    },
  });
  const walk = walkOver(
    host,
    () => ({ drawing, viewport }),
    () => show('operations'),
  );

  /** Draws the program at a level, from its top or around what is selected. */
  function show(name) {
    const p = program();
    level.show(name);
    drawing = drawingOf(p, name);
    fill(world, drawing.world);
    minimap = minimapOf(
      drawing,
      viewport,
      host.clientHeight,
      (g) => `kind-${drawing.groups[g] === null ? 'none' : p.kernels[drawing.groups[g]].kind}`,
    );
    fill(map, minimap.box);
    fill(legend, legendOf(p));
    legend.hidden = !p.kernels.length;
    nothing.hidden = p.nodes.length > 0;
    walk.forget();
    place();
    marks();
  }

  function place() {
    unseen = !host.clientWidth;
    showFirst(drawing, viewport, host);
  }

  const fit = () => viewport.show([0, 0, drawing.picture.width, drawing.picture.height]);

  const marks = () => markAll(drawing, matches);

  function markMatches(entries) {
    matches = matchesOf(entries);
    if (drawing) marks();
  }

  function changed(names) {
    if (names.has('program')) {
      search.forget();
      return show(program().nodes.length <= FEW ? 'operations' : 'kernels');
    }
    if (!drawing) return;
    if (unseen && names.has('view')) place();
    if (names.has('node') && state.node !== null && drawing.level === 'operations') {
      drawing.nodeOf(state.node);
      viewport.reveal(drawing.nodeBox(state.node));
    } else if (names.has('kernel') || names.has('node')) {
      const box = drawing.picture.groups[selectedGroup(drawing) ?? -1];
      if (box) viewport.reveal(box);
    }
    if (selectedGroup(drawing) !== null) walk.at(selectedGroup(drawing), state.node);
    marks();
  }

  const tool = (label, path, run) => button({ class: 'tool', 'aria-label': label, title: label, onclick: run }, icon(path));
  const bar = el(
    'div',
    { class: 'toolbar', role: 'toolbar', 'aria-label': 'Graph' },
    level.box,
    search.box,
    el('span', { class: 'grow' }),
    scaleText,
    tool('Zoom out', ICONS.minus, () => viewport.zoom(0.8)),
    tool('Zoom in', ICONS.plus, () => viewport.zoom(1.25)),
    tool('Fit the whole graph', ICONS.fit, fit),
  );
  const stage = el('div', { class: 'stagebox' }, el('div', { class: 'stagearea' }, host, nothing), map);
  const element = el('div', { class: 'view graphview' }, bar, stage, legend);
  window.addEventListener('themechange', () => drawing && viewport.apply());
  new ResizeObserver(() => {
    const box = drawing?.picture.groups[selectedGroup(drawing) ?? -1];
    if (box) viewport.reveal(box);
    else if (drawing) viewport.apply();
  }).observe(host);
  return { element, changed, fit, started: () => changed(new Set(['program'])) };
}

/** Whether the whole picture is in view. */
function seesAll([x, y, wide, high], { width, height }) {
  return x <= 0 && y <= 0 && x + wide >= width && y + high >= height;
}

/** A switch between the picture of kernels and that of operations. */
function levelSwitch(choose) {
  const buttons = [
    ['kernels', 'Kernels'],
    ['operations', 'Operations'],
  ].map(([name, title]) => button({ 'data-name': name, onclick: () => choose(name) }, title));
  return {
    box: el('div', { class: 'switch', role: 'group', 'aria-label': 'Show' }, buttons),
    show: (name) => buttons.forEach((each) => each.setAttribute('aria-pressed', String(each.dataset.name === name))),
  };
}

/** What colours and stripes mean, of those that the program has. */
function legendOf(p) {
  const kinds = [...new Set(p.kernels.map((k) => k.kind))];
  const phases = PHASES.filter((phase) => phase !== 'forward' && derive(p).kernelPhases.some((of) => of.includes(phase)));
  return [
    ...kinds.map(kindKey),
    ...(phases.length ? ['forward', ...phases] : []).map((phase) =>
      el('span', { class: `key phase-${phase}` }, el('i', { class: 'stripe' }), phase),
    ),
  ];
}
