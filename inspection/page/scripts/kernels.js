// All kernels of a program. In: the program. Out: a roofline and a table to sort.

const COLUMNS = [
  { title: '#', of: (k) => k.index, show: (k) => k.index + 1 },
  { title: 'Kernel', of: (k) => k.name, text: true },
  { title: 'Line', of: (k) => k.lines.map(place).join(), text: true, show: (k) => (k.lines.length ? firstPlace(k) : '') },
  { title: 'Bytes', of: (k) => k.bytes, show: (k) => amount(k.bytes, 'B'), bar: true },
  { title: 'Flops', of: (k) => k.flops, show: (k) => amount(k.flops, ''), bar: true },
  { title: 'Flop/byte', of: (k) => k.intensity, show: (k) => digits(k.intensity) },
  { title: 'Predicted', of: (k) => k.predicted, show: (k) => seconds(k.predicted) },
  { title: 'Measured', of: (k) => k.measured, show: (k) => seconds(k.measured) },
  { title: 'Time', of: (k) => timeOf(k), show: (k) => percent(timeOf(k), derive(program()).time), bar: true },
];

const [NARROWEST, WIDEST, PADDING] = [320, 860, 15]; // pixels of the chart, and of what is around it

function kernelsView() {
  const chart = el('div', { class: 'chartbox' });
  const table = el(
    'table',
    { class: 'grid kernels' },
    el('caption', { class: 'hidden' }, 'Kernels, in the order that you choose'),
  );
  const element = el(
    'div',
    { class: 'view scroll kernelsview' },
    chart,
    el('div', { class: 'tablebox', tabindex: '0', role: 'region', 'aria-label': 'Table of kernels' }, table),
  );
  let sorted = { column: 0, down: false };

  function draw() {
    const p = program();
    const width = Math.min(WIDEST, Math.max(NARROWEST, chart.clientWidth - 2 * PADDING));
    fill(chart, roofline(p, { width, height: 290 }));
    const { of } = COLUMNS[sorted.column];
    const value = (k) => of(k) ?? -1;
    const rows = [...p.kernels].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (sorted.down ? -1 : 1));
    const most = COLUMNS.map((column) => (column.bar ? Math.max(...p.kernels.map((k) => column.of(k) ?? 0), 1e-15) : 0));
    fill(
      table,
      table.caption,
      el('thead', {}, el('tr', {}, COLUMNS.map(header))),
      el(
        'tbody',
        {},
        rows.map((k) => row(k, most)),
      ),
    );
  }

  function header({ title, text }, i) {
    const way = sorted.column === i ? (sorted.down ? 'descending' : 'ascending') : 'none';
    return el(
      'th',
      { scope: 'col', class: text ? '' : 'number', 'aria-sort': way },
      button(
        {
          class: 'sort',
          onclick: () => {
            sorted = { column: i, down: sorted.column === i ? !sorted.down : !text && i > 0 };
            keepingFocus(draw);
          },
        },
        title,
      ),
    );
  }

  return {
    element,
    changed: (names) => !element.hidden && ['program', 'kernel', 'view'].some((name) => names.has(name)) && draw(),
    started: draw,
  };
}

function row(k, most) {
  const cells = COLUMNS.map(({ of, show, bar, text }, i) => {
    const value = show ? show(k) : of(k);
    if (i === 1)
      return el(
        'th',
        { scope: 'row' },
        el('i', { class: `patch kind-${k.kind}`, role: 'img', 'aria-label': k.kind, title: k.kind }),
        button({ class: 'link', 'data-kernel': k.index, onclick: () => selectKernel(k.index) }, value),
      );
    return el(
      'td',
      {
        class: `${text ? '' : 'number'} ${bar ? `barcell kind-${k.kind}` : ''}`,
        style: bar ? { '--share': (of(k) ?? 0) / most[i] } : {},
      },
      value ?? '–',
    );
  });
  return el(
    'tr',
    {
      class: k.index === state.kernel ? 'selected' : '',
      onclick: (event) => !event.target.closest('button') && selectKernel(k.index),
    },
    cells,
  );
}
