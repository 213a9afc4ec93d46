// What is selected. In: a kernel, a node, or nothing. Out: the panel beside the views.

function panelView() {
  const element = el('div', { class: 'panel' });
  const follow = atNextFrame(() => lookAt(element));
  const draw = () =>
    fill(
      element,
      state.node !== null && nodeCard(state.node),
      kernel() ? kernelPanel(kernel()) : state.node === null && overview(program()),
    );
  return {
    element,
    changed: (names) => {
      if (['program', 'kernel', 'node'].some((name) => names.has(name))) {
        draw();
        element.scrollTop = 0;
        follow();
      }
    },
    started: draw,
  };
}

const LEAST_SEEN = 160; // pixels of details that are in sight where they stand below a view
let cameFrom = null; // how far down the page was before the details were brought into sight, and what for

/** Brings details of what was chosen into sight where they stand below a view, and goes back when they are closed. */
function lookAt(panel) {
  const { kernel: chosen, node } = state;
  const { top } = panel.getBoundingClientRect();
  if ((chosen ?? node) !== null && panel.offsetParent && (top < 0 || top > window.innerHeight - LEAST_SEEN)) {
    cameFrom ??= { down: window.scrollY, chosen };
    panel.scrollIntoView();
    const head = panel.querySelector('h2');
    head.tabIndex = -1;
    head.focus({ preventScroll: true });
  } else if ((chosen ?? node) === null && cameFrom) {
    window.scrollTo(0, cameFrom.down);
    document.querySelector(`.main tbody [data-kernel='${cameFrom.chosen}']`)?.focus({ preventScroll: true });
    cameFrom = null;
  }
}

/** Of a program: its figures, and where its time goes. */
function overview(p) {
  const slowest = [...p.kernels]
    .filter((k) => timeOf(k) > 0)
    .sort((a, b) => timeOf(b) - timeOf(a))
    .slice(0, 8);
  return el(
    'div',
    { class: 'overview' },
    el('h2', {}, p.name),
    facts([
      ['Device', p.device],
      ['Runs', p.runs],
      ['A run', typeof p.seconds === 'number' ? `${seconds(p.seconds)} measured` : null],
      ['First run', typeof p.cold === 'number' ? seconds(p.cold) : null],
      ['Its kernels', typeof p.kernel_seconds === 'number' ? seconds(p.kernel_seconds) : null],
      ['Roofline', `${seconds(total(p.kernels, (k) => k.predicted))} predicted`],
      ['Kernels', p.kernels.length],
      ['Operations', p.nodes.length.toLocaleString('en')],
      [
        'Moved',
        amount(
          total(p.kernels, (k) => k.bytes),
          'B',
        ),
      ],
      [
        'Computed',
        amount(
          total(p.kernels, (k) => k.flops),
          'flop',
        ),
      ],
      ['Peak memory', amount(p.memory?.peak_bytes, 'B')],
      ['Compiled in', seconds(total(p.passes, (each) => each.seconds))],
    ]),
    slowest.length > 0 && el('h3', {}, derive(p).measured ? 'Where the time goes' : 'Where the time should go'),
    el(
      'ol',
      { class: 'bars' },
      slowest.map((k) =>
        el(
          'li',
          {},
          button(
            { class: 'barrow', 'data-kernel': k.index, onclick: () => selectKernel(k.index) },
            el('span', { class: 'title' }, el('span', { class: 'name' }, k.name), placeOf(k)),
            el('span', { class: 'value' }, seconds(timeOf(k))),
            el('span', { class: `bar kind-${k.kind}`, style: { '--share': timeOf(k) / timeOf(slowest[0]) } }),
            el('span', { class: 'value muted' }, percent(timeOf(k), derive(p).time)),
          ),
        ),
      ),
    ),
    el(
      'p',
      { class: 'hint muted' },
      'Select a kernel or an operation to see its code. Press ',
      el('kbd', {}, '?'),
      ' for the keys.',
    ),
  );
}
