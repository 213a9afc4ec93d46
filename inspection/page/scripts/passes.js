// The compiler at work. In: the passes of a program. Out: a list of them with times, and what the chosen one changed.

const MOST_LINES = 300;

function passesView() {
  const detail = el('div', { class: 'passdetail' });
  const listbox = el('div', { class: 'passlist' });
  const element = el('div', { class: 'view scroll passesview' }, listbox, detail);

  function draw() {
    const { passes } = program();
    const slowest = Math.max(...passes.map((p) => p.seconds), 1e-12);
    const first = Math.max(
      0,
      passes.findIndex((p) => p.rewrites.length || p.added.length || p.removed.length),
    );
    const show = (i) => {
      buttons.forEach((each, j) => {
        each.setAttribute('aria-selected', String(i === j));
        each.tabIndex = i === j ? 0 : -1;
      });
      detail.setAttribute('aria-labelledby', buttons[i].id);
      fill(detail, passDetail(passes[i], i ? passes.slice(0, i).findLast((p) => p.nodes !== null) : null));
    };
    const buttons = passes.map((p, i) =>
      button(
        { role: 'tab', class: 'pass', id: freshId('pass'), 'aria-controls': detail.id, onclick: () => show(i) },
        el('span', { class: 'title' }, `${i + 1}. ${p.name}`),
        el('span', { class: 'value' }, i ? seconds(p.seconds) : ''),
        el('span', { class: 'note muted' }, passNote(p)),
        el('span', { class: 'bar', style: { '--share': p.seconds / slowest } }),
      ),
    );
    const list = el('div', { role: 'tablist', 'aria-label': 'Passes', 'aria-orientation': 'vertical' }, buttons);
    moveWithArrows(
      list,
      () => buttons,
      (to) => {
        to.focus();
        to.click();
      },
    );
    fill(listbox, list);
    if (passes.length) show(first);
    else fill(detail, el('p', { class: 'muted' }, 'Nothing is known of its passes.'));
  }

  detail.id = freshId('pass');
  setAttributes(detail, { role: 'tabpanel', tabindex: '0' });
  return { element, changed: (names) => names.has('program') && draw(), started: draw };
}

function passNote(p) {
  if (p.nodes === null) return '';
  const change = p.added.length || p.removed.length ? ` +${p.added.length} −${p.removed.length}` : '';
  return `${p.nodes.toLocaleString('en')} nodes${change}`;
}

function passDetail(p, before) {
  const change = before && p.nodes !== null ? p.nodes - before.nodes : 0;
  const grew = change ? ` (${change > 0 ? '+' : '−'}${Math.abs(change).toLocaleString('en')})` : '';
  const nothing = !p.added.length && !p.removed.length && !p.rewrites.length;
  return [
    el('h2', {}, p.name),
    facts([
      ['Time', seconds(p.seconds)],
      ['Nodes', p.nodes === null ? null : `${p.nodes.toLocaleString('en')}${grew}`],
      ['Rewrites', p.rewrite_count ?? (p.rewrites.length || null)],
      ['Lines added', p.added.length || null],
      ['Lines removed', p.removed.length || null],
    ]),
    nothing &&
      el('p', { class: 'muted' }, p.nodes === null ? 'This pass makes something else than a graph.' : 'The graph is as it was.'),
    p.rewrites.length > 0 && el('h3', {}, 'Rewrites'),
    rules(p.rewrites),
    (p.removed.length > 0 || p.added.length > 0) && el('h3', {}, 'Changed lines'),
    changedLines(p),
  ];
}

/** Rewrites by their rule, the most frequent first. */
function rules(rewrites) {
  const byRule = new Map();
  for (const each of rewrites) byRule.set(each.rule, [...(byRule.get(each.rule) ?? []), each]);
  return [...byRule]
    .sort((a, b) => b[1].length - a[1].length)
    .map(([rule, list]) =>
      el(
        'details',
        { class: 'rule' },
        el('summary', {}, el('code', {}, rule), el('span', { class: 'muted' }, ` ${list.length} ×`)),
        shortList(el('ul', { class: 'rewrites' }), list, 40, (each) =>
          el(
            'li',
            {},
            el('div', { class: 'diff removed' }, each.before),
            el('div', { class: 'diff added' }, each.after),
            each.line && el('span', { class: 'muted' }, place(each.line)),
          ),
        ),
      ),
    );
}

function changedLines(p) {
  if (!p.removed.length && !p.added.length) return null;
  const lines = [...p.removed.map((text) => ['removed', text]), ...p.added.map((text) => ['added', text])];
  return shortList(el('ul', { class: 'difflist' }), lines, MOST_LINES, ([way, text]) =>
    el('li', { class: `diff ${way}` }, el('span', { class: 'hidden' }, `${way}: `), text),
  );
}
