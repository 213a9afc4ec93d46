// The roofline of a machine (Williams, Waterman, Patterson 2009, doi:10.1145/1498765.1498785). In: kernels. Out: a chart.

const ROOFLINE = { left: 62, right: 14, top: 14, bottom: 38 };

/** Kernels that have a place in the chart: those that compute and move something and have a time. */
function plotted(p) {
  return p.kernels.filter((k) => k.flops > 0 && k.bytes > 0 && timeOf(k) > 0);
}

/**
 * Roofs of a machine as {name, bytes, flops}: a slope of bytes per second up to a flat of flop per second. The first is that of
 * memory; others share a part of it, and are drawn where they part.
 */
function roofs(machine) {
  if (!machine) return [];
  const [[dtype, flops], ...others] = Object.entries(machine.flops ?? {});
  const { bandwidth, cache_bandwidth: cache } = machine;
  return [
    { name: dtype, bytes: bandwidth, flops },
    ...others.map(([name, most]) => ({ name, bytes: bandwidth, flops: most, flat: true })),
    ...(cache > bandwidth ? [{ name: 'cache', bytes: cache, flops, slope: true }] : []),
  ];
}

/** The range of whole decades around values. */
function decades(values, least) {
  const logs = values.filter((v) => v > 0).map(Math.log10);
  const low = Math.floor(Math.min(...logs));
  const high = Math.ceil(Math.max(...logs));
  const missing = Math.max(0, least - (high - low));
  return [low - Math.floor(missing / 2), high + Math.ceil(missing / 2)];
}

/**
 * @param {object} p the program
 * @param {{width: number, height: number}} size
 */
function roofline(p, { width, height }) {
  const kernels = plotted(p);
  const tops = roofs(DOC.machine);
  if (!kernels.length) return el('p', { class: 'muted' }, 'No kernel computes, moves memory and has a time.');
  const rate = (k) => k.flops / timeOf(k);
  const xs = decades([...kernels.map((k) => k.flops / k.bytes), ...tops.map(({ bytes, flops }) => flops / bytes)], 3);
  const ys = decades([...kernels.map(rate), ...tops.map(({ flops }) => flops)], 3);
  const place = {
    width,
    height,
    xs,
    ys,
    x: scale(xs, ROOFLINE.left, width - ROOFLINE.right),
    y: scale(ys, height - ROOFLINE.bottom, ROOFLINE.top),
  };
  const chart = svg('svg', {
    class: 'chart roofline',
    viewBox: `0 0 ${width} ${height}`,
    role: 'group',
    'aria-label': 'Roofline: flop per byte across, flop per second upwards, a point for each kernel',
  });
  append(chart, [
    grid(place),
    points(p, kernels, rate, place),
    tops.map((roof) => roofElement(roof, place)),
    kernels
      .filter((k) => k.index === state.kernel)
      .map((k) => pointName(k, place.x(k.flops / k.bytes), place.y(rate(k)), width)),
  ]);
  const left = p.kernels.length - kernels.length;
  const kinds = [...new Set(kernels.map((k) => k.kind))];
  const note = [
    derive(p).measured ? 'Measured times.' : 'Predicted times: points lie on the roof.',
    left ? ` ${count(left, 'kernel')} without arithmetic ${left === 1 ? 'has' : 'have'} no point.` : '',
  ];
  const keys = el('div', { class: 'keyrow' }, tops.map(roofKey), kinds.map(kindKey));
  return el('figure', { class: 'figure' }, chart, keys, el('figcaption', { class: 'muted' }, note));
}

function scale([low, high], from, to) {
  return (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
}

function grid({ width, height, xs, ys, x, y }) {
  const lines = [];
  for (let e = xs[0]; e <= xs[1]; e += 1) {
    lines.push(
      svg('line', { class: 'grid', x1: x(10 ** e), x2: x(10 ** e), y1: ROOFLINE.top, y2: height - ROOFLINE.bottom }),
      svg('text', { class: 'tick middle', x: x(10 ** e), y: height - ROOFLINE.bottom + 15 }, plain(10 ** e)),
    );
  }
  for (let e = ys[0]; e <= ys[1]; e += 1) {
    lines.push(
      svg('line', { class: 'grid', x1: ROOFLINE.left, x2: width - ROOFLINE.right, y1: y(10 ** e), y2: y(10 ** e) }),
      svg('text', { class: 'tick end', x: ROOFLINE.left - 7, y: y(10 ** e) + 4 }, amount(10 ** e, '')),
    );
  }
  const middle = (ROOFLINE.top + height - ROOFLINE.bottom) / 2;
  return [
    ...lines,
    svg('text', { class: 'axis middle', x: (ROOFLINE.left + width) / 2, y: height - 6 }, 'flop / byte'),
    svg('text', { class: 'axis middle', transform: `translate(13 ${middle}) rotate(-90)` }, 'flop / s'),
  ];
}

/** 0.01, 1, 100: small powers of ten in full. */
function plain(value) {
  return value < 1 ? value.toFixed(Math.round(-Math.log10(value))) : amount(value, '');
}

/** A slope of bytes per second up to a flat of flop per second. */
function roofElement({ bytes, flops, flat, slope }, { xs, ys, x, y }) {
  const ridge = flops / bytes;
  const first = Math.max(10 ** xs[0], 10 ** ys[0] / bytes);
  const up = flat ? '' : `M${x(first)} ${y(first * bytes)}L${x(ridge)} ${y(flops)}`;
  const on = slope ? '' : `M${x(ridge)} ${y(flops)}L${x(10 ** xs[1])} ${y(flops)}`;
  return svg('path', { class: roofClass({ flat, slope }), d: up + on });
}

function roofClass({ flat, slope }) {
  return `roof ${flat ? 'flat' : slope ? 'slope' : ''}`;
}

/** What the line of a roof means: below the chart, where no point can lie on it. */
function roofKey({ name, bytes, flops, flat, slope }) {
  const sample = svg('svg', { class: 'chart', viewBox: '0 0 26 8', 'aria-hidden': 'true' });
  sample.append(svg('path', { class: roofClass({ flat, slope }), d: 'M0 4H26' }));
  const [from, most] = [`${slope ? name : 'memory'} ${amount(bytes, 'B/s')}`, `${name} ${amount(flops, 'flop/s')}`];
  return el('span', { class: 'key roofkey' }, sample, flat ? most : slope ? from : `${from}, ${most}`);
}

/** A point each; the larger, the longer the kernel takes. */
function points(p, kernels, rate, { x, y }) {
  const longest = Math.max(...kernels.map(timeOf));
  const selected = (k) => (k.index === state.kernel ? 'selected' : '');
  const figuresOf = (k) => [`${digits(k.flops / k.bytes)} flop per byte`, amount(rate(k), 'flop/s'), seconds(timeOf(k))];
  const drawn = [...kernels]
    .sort((a, b) => timeOf(b) - timeOf(a))
    .map((k) =>
      svg(
        'circle',
        {
          class: `point kind-${k.kind} ${typeof k.measured === 'number' ? '' : 'predicted'} ${selected(k)}`,
          cx: x(k.flops / k.bytes),
          cy: y(rate(k)),
          r: 4 + 6 * Math.sqrt(timeOf(k) / longest),
          role: 'button',
          'data-kernel': k.index,
          'aria-label': `${k.name}: ${figuresOf(k).join(', ')}`,
          onclick: () => selectKernel(k.index),
          onkeydown: (event) => ['Enter', ' '].includes(event.key) && (event.preventDefault(), selectKernel(k.index)),
        },
        svg('title', {}, [k.name, ...figuresOf(k)].join('\n')),
      ),
    );
  const layer = svg('g', {}, drawn);
  roving(layer, drawn, () => {});
  const front = drawn.find((each) => each.classList.contains('selected'));
  if (front) layer.append(front);
  return layer;
}

/** The name of a kernel above or below its point, on the side where there is room. */
function pointName(k, x, y, width) {
  const right = x > width / 2;
  const at = y > 30 ? y - 16 : y + 26;
  return svg('text', { class: `pointname ${right ? 'end' : ''}`, x: right ? x + 6 : x - 6, y: at }, shortened(k.name, 30));
}
