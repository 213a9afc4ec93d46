// One kernel. In: the kernel. Out: its head, and tabs with its figures, source, loops and code.

const NAMES = 12; // of what a kernel reads that are shown

/** Of a kernel: its head, and tabs of all there is to see. */
function kernelPanel(k) {
  const body = el('div', { class: 'panelbody', tabindex: '-1' });
  const twin = program().kernels[k.same_code_as ?? k.index]; // whose code it shares, or itself
  const texts = Object.keys(twin.texts ?? {}).sort((a, b) => order(a) - order(b));
  const tabs = [
    { name: 'overview', title: 'Overview' },
    { name: 'source', title: 'Source' },
    ...texts.map((ending) => ({ name: ending, title: TEXTS[ending]?.title ?? ending, hint: `${twin.name}.${ending}` })),
  ];
  const has = (name) => tabs.some((tab) => tab.name === name);
  const show = (name) => {
    list.show(name);
    fill(
      body,
      name === 'overview'
        ? kernelOverview(k)
        : name === 'source'
          ? sourceView(k)
          : [sharedCode(k, twin), codeBox(twin.texts[name], TEXTS[name]?.language, `${TEXTS[name]?.title ?? name} of ${k.name}`)],
    );
  };
  const list = tabList({
    label: 'About the kernel',
    tabs,
    chosen: 'overview',
    panel: body,
    kind: 'small',
    choose: (name) => {
      select({ text: name });
      show(name);
    },
  });
  show(has(state.text) ? state.text : 'overview');
  return el('div', { class: 'kernelpanel' }, kernelHead(k), list.list, body);
}

/** Says that the code is that of another kernel. */
function sharedCode(k, twin) {
  if (k === twin) return null;
  const link = button({ class: 'link', 'data-kernel': twin.index, onclick: () => selectKernel(twin.index) }, twin.name);
  return el('p', { class: 'muted' }, 'Runs the same code as ', link);
}

function order(ending) {
  const at = Object.keys(TEXTS).indexOf(ending);
  return at < 0 ? 99 : at;
}

function kernelHead(k) {
  const last = program().kernels.length - 1;
  const phases = derive(program()).kernelPhases[k.index];
  const go = (label, path, to) =>
    button(
      { class: 'tool', 'aria-label': label, title: label, disabled: to < 0 || to > last, onclick: () => selectKernel(to) },
      icon(path),
    );
  return el(
    'div',
    { class: 'cardhead kernelhead' },
    el('h2', { title: k.name }, k.name),
    el(
      'span',
      { class: 'steps' },
      go('Previous kernel', ICONS.left, k.index - 1),
      el('span', { class: 'muted' }, `${k.index + 1} / ${last + 1}`),
      go('Next kernel', ICONS.right, k.index + 1),
      button(
        {
          class: 'tool widen',
          'aria-label': 'Wide details',
          title: 'Wide details',
          onclick: () => window.dispatchEvent(new Event('widen')),
        },
        icon(ICONS.widen),
      ),
      button(
        { class: 'tool', 'aria-label': 'Close the kernel', title: 'Close', onclick: () => selectKernel(null) },
        icon(ICONS.close),
      ),
    ),
    el(
      'span',
      { class: 'badges' },
      el('span', { class: `badge kind-${k.kind}` }, k.kind),
      phases.map((phase) => el('span', { class: `badge phase-${phase}` }, phase)),
    ),
  );
}

function kernelOverview(k) {
  return [
    figures(k),
    el('h3', {}, 'Schedule'),
    el('p', { class: 'schedule' }, k.schedule),
    otherSchedules(k),
    k.launches?.length ? launchTable(k.launches) : null,
    el('div', { class: 'roofbox' }, el('h3', {}, 'Roofline'), roofline(program(), { width: 440, height: 250 })),
    el('h3', {}, 'Why it stands alone'),
    boundaryList(k),
    el('h3', {}, count(k.nodes.length, 'operation')),
    nodeList(k),
    el('h3', {}, 'Writes'),
    el(
      'ul',
      { class: 'plainlist' },
      k.outputs.length ? k.outputs.map((text) => el('li', {}, el('code', {}, text))) : el('li', {}, 'the status only'),
    ),
  ];
}

function figures(k) {
  const off = typeof k.measured === 'number' && k.predicted > 0 ? `${digits(k.measured / k.predicted)} × predicted` : null;
  const machine = DOC.machine;
  const time = k.measured ?? null;
  const share = (value, most) => (time && most && value / time <= most ? ` (${percent(value / time, most)} of peak)` : '');
  return facts(
    [
      ['Measured', time === null ? null : [seconds(time), off && el('span', { class: 'muted' }, ` ${off}`)]],
      [
        'Predicted',
        typeof k.predicted === 'number'
          ? [seconds(k.predicted), k.bound && el('span', { class: 'muted' }, ` ${k.bound} bound`)]
          : null,
      ],
      [
        'Moves',
        [
          amount(k.bytes, 'B'),
          time && el('span', { class: 'muted' }, ` ${amount(k.bytes / time, 'B/s')}${share(k.bytes, machine?.bandwidth)}`),
        ],
      ],
      [
        'Computes',
        [
          amount(k.flops, 'flop'),
          time &&
            k.flops > 0 &&
            el('span', { class: 'muted' }, ` ${amount(k.flops / time, 'flop/s')}${share(k.flops, machine?.flops?.float32)}`),
        ],
      ],
      ['Intensity', `${digits(k.intensity)} flop/byte`],
      ['Outer axes', el('code', {}, `[${k.outer.join(', ')}]`)],
      ['Layer', k.layer?.[1] && el('code', {}, k.layer[1])],
      ['Runs on', k.launches?.length ? 'the GPU' : k.parallel ? count(k.threads, 'thread') : 'one thread'],
      ['Reads', k.reads?.length ? el('code', {}, listed(k.reads)) : null, true],
      [
        'Lines',
        k.lines.length
          ? el(
              'span',
              { class: 'links' },
              (k.sources ?? k.lines.map(([file, line]) => ({ file, line }))).map((source) => lineLink(source)),
            )
          : null,
        true,
      ],
    ],
    { class: 'facts figures' },
  );
}

/** The first names, and how many more there are. */
function listed(names) {
  const more = names.length - NAMES;
  return more > 0 ? `${names.slice(0, NAMES).join(', ')} and ${more} more` : names.join(', ');
}

/** Leads to a line of the user's in the source; says whether it is the gradient of that line that is computed. */
function lineLink({ file, line, gradient }) {
  const go = () => {
    const tab = document.querySelector('.kernelpanel [data-name=source]');
    tab.focus();
    tab.click();
    selectLine([file, line]);
  };
  return button({ class: 'link', onclick: go }, `${gradient ? 'gradient of ' : ''}${place([file, line])}`);
}

/** Why it runs in none of the other schedules. */
function otherSchedules(k) {
  const others = [...new Map(k.choices.flatMap((choice) => Object.entries(choice.others)))];
  const item = ([name, why]) => el('li', {}, el('div', { class: 'why' }, el('strong', {}, name), `: ${why}`));
  return others.length ? shortList(el('ul', { class: 'reasons' }), others, 12, item) : null;
}

/** Reasons at the boundaries with kernels before and after. */
function boundaryList(k) {
  const { names } = derive(program());
  const before = k.boundaries.map((b) => ({ ...b, other: names.get(b.other), name: b.other, way: 'from' }));
  const after = program()
    .boundaries.filter((b) => b.producer === k.index)
    .map((b) => ({ other: b.consumer, name: program().kernels[b.consumer]?.name, way: 'to', rule: b.rule, detail: b.detail }));
  const all = [...before, ...after];
  if (!all.length) return el('p', { class: 'muted' }, 'It has no neighbour that it could have joined.');
  return shortList(el('ul', { class: 'reasons' }), all, 12, (b) =>
    el(
      'li',
      {},
      el('span', { class: 'way muted' }, b.way),
      ' ',
      b.other === undefined
        ? el('code', {}, b.name)
        : button({ class: 'link', 'data-kernel': b.other, onclick: () => selectKernel(b.other) }, b.name),
      el('div', { class: 'why' }, el('strong', {}, b.rule), b.detail ? `: ${b.detail}` : ''),
    ),
  );
}

function nodeList(k) {
  const { position } = derive(program());
  const items = k.node_ids.map((id) => position.get(id)).filter((i) => i !== undefined);
  return shortList(el('ul', { class: 'nodelist' }), items, 60, (i) =>
    el(
      'li',
      {},
      button(
        { class: 'chip', 'data-node': i, onclick: () => selectNode(i), title: typed(program().nodes[i]) },
        program().nodes[i].label,
      ),
    ),
  );
}

const LAUNCH = [
  ['Blocks', ({ blocks }) => blocks.toLocaleString('en')],
  ['Threads', ({ threads }) => threads.toLocaleString('en')],
  ['Shared', ({ shared }) => amount(shared, 'B')],
  ['Registers', ({ registers }) => registers ?? '–'],
  ['Spilled', ({ spilled }) => amount(spilled, 'B')],
];

function launchTable(launches) {
  return el(
    'table',
    { class: 'grid launches' },
    el('caption', {}, 'Launches'),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        LAUNCH.map(([title]) => el('th', { scope: 'col', class: 'number' }, title)),
      ),
    ),
    el(
      'tbody',
      {},
      launches.map((launch) =>
        el(
          'tr',
          {},
          LAUNCH.map(([, of]) => el('td', { class: 'number' }, of(launch))),
        ),
      ),
    ),
  );
}
