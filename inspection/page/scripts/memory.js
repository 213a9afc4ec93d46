// The memory plan. In: buffers with offset, size and steps. Out: the arena over the steps, and who lives in one.

const PLAN = { left: 66, right: 12, top: 10, curve: 70, gap: 26, bottom: 34, width: 900, arena: 300 };

function memoryView() {
  const element = el('div', { class: 'view scroll memoryview' });
  let step = 0;

  function draw() {
    const m = program().memory;
    step = m?.peak_step ?? 0;
    if (!m?.buffers?.length) return fill(element, el('p', { class: 'muted' }, 'The program needs no memory of its own.'));
    const says = el('p', { class: 'says', 'aria-live': 'polite' }, 'Point at a buffer, or move with the arrow keys.');
    const alive = el('div', { class: 'alive' });
    const show = (to) => {
      step = Math.min(m.steps - 1, Math.max(0, to));
      aliveAt(alive, m, step);
      chart.querySelector('.now').setAttribute('x', atStep(m, step));
    };
    const chart = planChart(m, says, show);
    fill(
      element,
      planFacts(m),
      el('figure', { class: 'figure' }, chart, el('figcaption', {}, says)),
      stepPicker(m, () => step, show),
      alive,
    );
    return show(step);
  }

  return { element, changed: (names) => names.has('program') && draw(), started: draw };
}

function planFacts(m) {
  const held = (space) => {
    const list = m.buffers.filter((b) => b.space === space);
    const bytes = total(list, (b) => b.bytes);
    return list.length ? `${amount(bytes, 'B')} in ${count(list.length, 'buffer')}` : 'none';
  };
  const worst = `step ${m.peak_step + 1} of ${m.steps}, ${m.peak_kernel}`;
  return facts([
    ['Peak', `${amount(m.peak_bytes, 'B')}, all inputs and outputs held, in ${worst}`, true],
    ['Arena', amount(m.arena_bytes, 'B')],
    ['Inputs', held('input')],
    ['Outputs', held('output')],
    ['In place of inputs', held('donated')],
    ['In place of others', count(m.buffers.filter((b) => b.in_place_of).length, 'buffer')],
  ]);
}

function atStep(m, step) {
  return PLAN.left + ((PLAN.width - PLAN.left - PLAN.right) * step) / Math.max(m.steps, 1);
}

/** Bytes that are needed in each step. */
function needed(m) {
  const bytes = new Array(Math.max(m.steps, 1)).fill(0);
  const overwritten = new Map(m.buffers.filter((b) => b.in_place_of).map((b) => [b.in_place_of, b.first]));
  for (const b of m.buffers) {
    const last = overwritten.has(b.name) ? Math.min(b.last, overwritten.get(b.name) - 1) : b.last;
    if (b.space === 'donated') continue;
    for (let s = Math.max(0, b.first); s <= Math.min(last, m.steps - 1); s += 1) bytes[s] += b.bytes;
  }
  return bytes;
}

function planChart(m, says, show) {
  const arena = m.buffers.filter((b) => b.space === 'arena');
  const bytes = needed(m);
  const high = m.arena_bytes ? PLAN.arena : 40;
  const top = PLAN.top + PLAN.curve + PLAN.gap;
  const height = top + high + PLAN.bottom;
  const x = (s) => atStep(m, s);
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
  const every = Math.max(1, Math.ceil(m.steps / 20));
  return svg(
    'svg',
    {
      class: 'chart plan',
      viewBox: `0 0 ${PLAN.width} ${height}`,
      role: 'group',
      'aria-label': 'Buffers of the arena over the steps',
    },
    svg('rect', {
      class: 'peak',
      x: x(m.peak_step),
      width: x(m.peak_step + 1) - x(m.peak_step),
      y: PLAN.top,
      height: height - PLAN.bottom - PLAN.top,
    }),
    svg('path', { class: 'curve', d: `M${x(0)} ${PLAN.top + PLAN.curve}${curve}L${x(bytes.length)} ${PLAN.top + PLAN.curve}Z` }),
    svg('text', { class: 'tick end', x: PLAN.left - 7, y: PLAN.top + 9 }, amount(Math.max(...bytes), 'B')),
    svg('text', { class: 'tick end', x: PLAN.left - 7, y: PLAN.top + PLAN.curve }, '0 B'),
    svg(
      'text',
      { class: 'axis', x: PLAN.left, y: top - 8 },
      m.arena_bytes
        ? 'Arena: a bar is a buffer, from the step that writes it to the last that reads it, in the colour of its kernel'
        : 'Nothing lies in the arena',
    ),
    svg(
      'text',
      { class: 'axis end', x: PLAN.width - PLAN.right, y: PLAN.top + 4 },
      'Needed in each step, inputs and outputs while in use',
    ),
    ticks.map((t) => [
      svg('line', {
        class: 'grid',
        x1: PLAN.left,
        x2: PLAN.width - PLAN.right,
        y1: y(m.arena_bytes * t),
        y2: y(m.arena_bytes * t),
      }),
      svg('text', { class: 'tick end', x: PLAN.left - 7, y: y(m.arena_bytes * t) + 4 }, amount(m.arena_bytes * t, 'B')),
    ]),
    Array.from({ length: m.steps }, (_, s) => s)
      .filter((s) => s % every === 0)
      .map((s) => svg('text', { class: 'tick middle', x: (x(s) + x(s + 1)) / 2, y: height - PLAN.bottom + 15 }, s + 1)),
    svg('text', { class: 'axis middle', x: (PLAN.left + PLAN.width) / 2, y: height - 4 }, 'step'),
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

function stepPicker(m, now, show) {
  const range = el('input', {
    type: 'range',
    min: 0,
    max: m.steps - 1,
    value: now(),
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

/** The buffers that are needed in a step, the largest first. */
function aliveAt(host, m, step) {
  const names = ['Buffer', 'Value', 'Bytes', 'Where', 'Steps'];
  const list = m.buffers.filter((b) => b.first <= step && step <= b.last).sort((a, b) => b.bytes - a.bytes);
  const name = program().kernels[step]?.name ?? '';
  fill(
    host,
    el('h2', {}, `Needed in step ${step + 1}, ${name}: ${amount(needed(m)[step], 'B')}`),
    el(
      'table',
      { class: 'grid' },
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          names.map((title) => el('th', { scope: 'col', class: title === 'Bytes' ? 'number' : '' }, title)),
        ),
      ),
      el(
        'tbody',
        {},
        list.map((b) =>
          el(
            'tr',
            {},
            el('td', {}, b.name),
            el('td', {}, el('code', {}, typed(b))),
            el('td', { class: 'number' }, amount(b.bytes, 'B')),
            el('td', {}, b.number === null ? `arena + ${amount(b.offset, 'B')}` : `${b.space} ${b.number}`),
            el('td', {}, `${b.first + 1}–${b.last + 1}`),
          ),
        ),
      ),
    ),
  );
}
