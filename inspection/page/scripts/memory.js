// The memory plan. In: buffers with offset, size and steps. Out: the arena over the steps, and who lives in one.

const PLAN = { left: 58, right: 4, top: 16, curve: 70, gap: 30, bottom: 34, narrowest: 280, widest: 960, arena: 300, tick: 34 };

function memoryView() {
  const element = el('div', { class: 'view scroll memoryview' });
  let step = null;

  function draw() {
    const m = program().memory;
    if (!m?.buffers?.length) return fill(element, el('p', { class: 'muted' }, 'The program needs no memory of its own.'));
    const says = el('p', { class: 'says', 'aria-live': 'polite' }, 'Point at a buffer, or move with the arrow keys.');
    const alive = el('div', { class: 'alive' });
    const width = Math.min(PLAN.widest, Math.max(PLAN.narrowest, element.clientWidth - 70));
    const show = (to) => {
      step = Math.min(m.steps - 1, Math.max(0, to));
      aliveAt(alive, m, step);
      chart.querySelector('.now').setAttribute('x', atStep(m, step, width));
    };
    const chart = planChart(m, width, says, show);
    fill(
      element,
      planFacts(m),
      el('figure', { class: 'figure' }, chart, el('figcaption', {}, says)),
      stepPicker(m, step ?? m.peak_step, show),
      alive,
    );
    return show(step ?? m.peak_step);
  }

  return {
    element,
    changed: (names) => {
      if (names.has('program')) step = null;
      if (!element.hidden && (names.has('program') || names.has('view'))) draw();
    },
    started: draw,
  };
}

function planFacts(m) {
  const held = (space) => {
    const list = m.buffers.filter((b) => b.space === space);
    const bytes = total(list, (b) => b.bytes);
    return list.length ? `${amount(bytes, 'B')} in ${count(list.length, 'buffer')}` : 'none';
  };
  const worst = `step ${m.peak_step + 1} of ${m.steps}, ${m.peak_kernel}`;
  return facts([
    ['Peak', `${amount(m.peak_bytes, 'B')} in ${worst}`, true],
    ['Arena', amount(m.arena_bytes, 'B')],
    ['Inputs', held('input')],
    ['Outputs', held('output')],
    ['In place of inputs', held('donated')],
    ['In place of others', count(m.buffers.filter((b) => b.in_place_of).length, 'buffer')],
  ]);
}

function atStep(m, step, width) {
  return PLAN.left + ((width - PLAN.left - PLAN.right) * step) / Math.max(m.steps, 1);
}

/** What inputs and outputs take: whoever runs the program holds them all the time. Several buffers may lie in one. */
function heldBytes(m) {
  const outside = m.buffers.filter((b) => b.space === 'input' || b.space === 'output');
  return [...new Map(outside.map((b) => [`${b.space} ${b.number}`, b.bytes])).values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Bytes that are needed in each step: those held, and those of the arena. */
function needed(m) {
  const bytes = new Array(Math.max(m.steps, 1)).fill(heldBytes(m));
  const overwritten = new Map(m.buffers.filter((b) => b.in_place_of).map((b) => [b.in_place_of, b.first]));
  for (const b of m.buffers.filter(({ space }) => space === 'arena')) {
    const last = overwritten.has(b.name) ? overwritten.get(b.name) - 1 : b.last;
    for (let s = Math.max(0, b.first); s <= Math.min(last, m.steps - 1); s += 1) bytes[s] += b.bytes;
  }
  return bytes;
}

function planChart(m, width, says, show) {
  const arena = m.buffers.filter((b) => b.space === 'arena');
  const bytes = needed(m);
  const held = heldBytes(m);
  const high = m.arena_bytes ? PLAN.arena : 40;
  const top = PLAN.top + PLAN.curve + PLAN.gap;
  const height = top + high + PLAN.bottom;
  const x = (s) => atStep(m, s, width);
  const y = (offset) => top + high - (high * offset) / Math.max(m.arena_bytes, 1);
  const up = (value) => PLAN.top + PLAN.curve - (PLAN.curve * value) / Math.max(...bytes, 1);
  const curve = bytes.map((value, s) => `L${x(s)} ${up(value)}L${x(s + 1)} ${up(value)}`).join('');
  const bars = arena.map((b) =>
    svg('rect', {
      class: `buffer kind-${program().kernels[b.first]?.kind}`,
      x: x(b.first) + 0.5,
      width: Math.max(1.5, x(b.last + 1) - x(b.first) - 1),
      y: y(b.offset + b.bytes) + 0.5,
      height: Math.max(1.5, y(b.offset) - y(b.offset + b.bytes) - 1),
      role: 'img',
      'aria-label': describe(b),
      onpointerenter: () => fill(says, describe(b)),
      onclick: () => show(b.first),
    }),
  );
  const layer = svg('g', {}, bars);
  roving(layer, bars, (i) => fill(says, describe(arena[i])));
  const ticks = [0, 0.25, 0.5, 0.75, 1].slice(0, m.arena_bytes ? 5 : 1);
  const every = Math.max(1, Math.ceil((m.steps * PLAN.tick) / width));
  return svg(
    'svg',
    {
      class: 'chart plan',
      viewBox: `0 0 ${width} ${height}`,
      role: 'group',
      'aria-label': 'Buffers of the arena over the steps, each from the one that writes it to the last that reads it',
    },
    svg('rect', {
      class: 'peak',
      x: x(m.peak_step),
      width: x(m.peak_step + 1) - x(m.peak_step),
      y: PLAN.top,
      height: height - PLAN.bottom - PLAN.top,
    }),
    svg('path', { class: 'curve', d: `M${x(0)} ${PLAN.top + PLAN.curve}${curve}L${x(bytes.length)} ${PLAN.top + PLAN.curve}Z` }),
    svg('rect', { class: 'held', x: x(0), width: x(m.steps) - x(0), y: up(held), height: up(0) - up(held) }),
    svg('text', { class: 'tick end', x: PLAN.left - 7, y: PLAN.top + 6 }, amount(Math.max(...bytes), 'B')),
    svg('text', { class: 'tick end', x: PLAN.left - 7, y: PLAN.top + PLAN.curve }, '0 B'),
    svg('text', { class: 'axis', x: PLAN.left, y: PLAN.top - 6 }, 'Needed in each step; below: inputs and outputs'),
    svg('text', { class: 'axis', x: PLAN.left, y: top - 8 }, `The arena${m.arena_bytes ? ', buffer by buffer' : ' is empty'}`),
    ticks.map((t) => [
      svg('line', {
        class: 'grid',
        x1: PLAN.left,
        x2: width - PLAN.right,
        y1: y(m.arena_bytes * t),
        y2: y(m.arena_bytes * t),
      }),
      svg('text', { class: 'tick end', x: PLAN.left - 7, y: y(m.arena_bytes * t) + 4 }, amount(m.arena_bytes * t, 'B')),
    ]),
    Array.from({ length: m.steps }, (_, s) => s)
      .filter((s) => s % every === 0)
      .map((s) => svg('text', { class: 'tick middle', x: (x(s) + x(s + 1)) / 2, y: height - PLAN.bottom + 15 }, s + 1)),
    svg('text', { class: 'axis middle', x: (PLAN.left + width) / 2, y: height - 4 }, 'step'),
    layer,
    svg('rect', { class: 'now', y: PLAN.top, width: x(1) - x(0), height: height - PLAN.bottom - PLAN.top }),
  );
}

function describe(b) {
  const where = b.number === null ? `arena + ${amount(b.offset, 'B')}` : `${b.space} ${b.number}`;
  const steps = b.first === b.last ? `step ${b.first + 1}` : `steps ${b.first + 1}–${b.last + 1}`;
  const extra = [b.in_place_of && `in place of ${b.in_place_of}`, b.line && place(b.line)].filter(Boolean);
  return `${b.name}: ${[typed(b), amount(b.bytes, 'B'), where, steps, ...extra].join(', ')}`;
}

function stepPicker(m, step, show) {
  const range = el('input', {
    type: 'range',
    min: 0,
    max: m.steps - 1,
    value: step,
    id: freshId('step'),
    'aria-label': 'Step',
    oninput: (event) => show(Number(event.target.value)),
  });
  const peak = button(
    {
      class: 'plain',
      onclick: () => {
        range.value = m.peak_step;
        show(m.peak_step);
      },
    },
    'Go to the peak',
  );
  return el('div', { class: 'picker' }, el('label', { for: range.id }, 'Step'), range, peak);
}

const BUFFER = [
  ['Buffer', (b) => b.name],
  ['Value', (b) => el('code', {}, typed(b))],
  ['Bytes', (b) => amount(b.bytes, 'B'), 'number'],
  ['Where', (b) => (b.number === null ? `arena + ${amount(b.offset, 'B')}` : `${b.space} ${b.number}`)],
  ['Steps', (b) => `${b.first + 1}–${b.last + 1}`],
];

/** The buffers that a step uses, the largest first, and what is held besides. */
function aliveAt(host, m, step) {
  const list = m.buffers.filter((b) => b.first <= step && step <= b.last).sort((a, b) => b.bytes - a.bytes);
  const idle = heldBytes(m) - heldBytes({ buffers: list });
  const name = program().kernels[step]?.name ?? '';
  fill(
    host,
    el('h2', {}, `Needed in step ${step + 1}, ${name}: ${amount(needed(m)[step], 'B')}`),
    idle > 0 && el('p', { class: 'muted' }, `${amount(idle, 'B')} of it are inputs and outputs that this step does not use.`),
    el(
      'table',
      { class: 'grid' },
      el('thead', {}, el('tr', {}, BUFFER.map(([title, , kind]) => el('th', { scope: 'col', class: kind ?? '' }, title)))),
      el('tbody', {}, list.map((b) => el('tr', {}, BUFFER.map(([, of, kind]) => el('td', { class: kind ?? '' }, of(b)))))),
    ),
  );
}
