// What stands out in the graph. In: a drawing, the selection, what was found. Out: classes of its elements, a first view.

const READABLE = 0.8; // a first view is not smaller than this

/** The group of what is selected, null without any. */
function selectedGroup(drawing) {
  if (!drawing) return null;
  if (state.node !== null) return drawing.home[state.node];
  const group = drawing.groups.indexOf(state.kernel);
  return state.kernel === null || group < 0 ? null : group;
}

/** The nodes and kernels among the entries of a search. */
function matchesOf(entries) {
  const of = (what) => new Set(entries.map((entry) => entry[what]).filter((i) => i !== undefined));
  return { nodes: of('node'), kernels: of('kernel') };
}

/** Marks what is selected, what comes from the selected line, and what was found. */
function markAll(drawing, matches) {
  const group = selectedGroup(drawing);
  const found = new Set([...matches.nodes].map((i) => drawing.home[i]));
  for (const index of matches.kernels) found.add(drawing.groups.indexOf(index));
  const fromLine = state.line && new Set(kernelsOf(state.line));
  drawing.boxes.forEach((box, g) => {
    const comes = fromLine?.has(drawing.groups[g]);
    box.classList.toggle('selected', g === group && (state.node === null || drawing.level === 'kernels'));
    box.classList.toggle('dim', Boolean(fromLine) && !comes);
    box.classList.toggle('lit', Boolean(comes) || found.has(g));
  });
  for (const [i, element] of drawing.nodes) {
    element.classList.toggle('selected', i === state.node);
    element.classList.toggle('match', matches.nodes.has(i));
    element.classList.toggle('dim', Boolean(state.line) && !sameLine(program().nodes[i].line, state.line));
  }
  drawing.mark(group, state.node);
}

function sameLine(a, b) {
  return Boolean(a && b && a[0] === b[0] && a[1] === b[1]);
}

/** Shows the whole graph if it can be read so, else its top, or where the selection is. */
function showFirst(drawing, viewport, host) {
  const { width, height, groups } = drawing.picture;
  viewport.show([0, 0, width, height]);
  if (viewport.at.scale < READABLE) {
    const wide = Math.min(width, host.clientWidth / READABLE);
    const left = Math.min(topOf(drawing) - wide / 2, width - wide);
    viewport.show([Math.max(0, left), 0, wide, host.clientHeight / READABLE]);
  }
  const box = groups[selectedGroup(drawing) ?? -1];
  if (box) viewport.reveal(box);
}

/** The middle of the first layer. */
function topOf(drawing) {
  const [x, , width] = drawing.picture.groups
    .filter(Boolean)
    .reduce((top, box) => (box[1] < top[1] ? box : top), [0, Infinity, 0, 0]);
  return x + width / 2;
}
