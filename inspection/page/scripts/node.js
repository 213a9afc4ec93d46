// One operation of the graph. In: its position. Out: a card with what it computes of what, and who uses it.

function nodeCard(position) {
  const p = program();
  const n = p.nodes[position];
  const { consumers, phases, position: of } = derive(p);
  const sources = n.src.map((id) => of.get(id)).filter((i) => i !== undefined);
  return el(
    'section',
    { class: 'nodecard', 'aria-label': 'Operation' },
    el(
      'div',
      { class: 'cardhead' },
      el('h2', {}, el('code', {}, n.label)),
      el('span', { class: `badge phase-${phases[position]}` }, phases[position]),
      button(
        { class: 'tool', 'aria-label': 'Close the operation', title: 'Close', onclick: () => select({ node: null }) },
        icon(ICONS.close),
      ),
    ),
    facts([
      ['Value', el('code', {}, typed(n))],
      ['Argument', n.arg && el('code', {}, n.arg)],
      ['Reads', sources.length ? links(p, sources) : null],
      ['Read by', consumers[position].length ? links(p, consumers[position]) : 'the caller'],
      ['Line', n.line && el('code', {}, place(n.line))],
      ['Kernel', n.kernel === null ? 'none: it is a view, a constant or an input' : null],
    ]),
    n.line &&
      DOC.sources[n.line[0]]?.lines[n.line[1] - 1] &&
      el('pre', { class: 'oneline' }, DOC.sources[n.line[0]].lines[n.line[1] - 1].trim()),
  );
}

/** Links to nodes, the first of many. */
function links(p, positions) {
  const most = 12;
  const shown = positions
    .slice(0, most)
    .map((i) => button({ class: 'link', 'data-node': i, onclick: () => selectNode(i) }, p.nodes[i].label));
  return el(
    'span',
    { class: 'links' },
    shown,
    positions.length > most && el('span', { class: 'muted' }, `and ${positions.length - most} more`),
  );
}
