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

/** Shows the whole graph if it can be read so, else its beginning, or where the selection is. */
function showFirst(drawing, viewport, host) {
  const { width, height, groups } = drawing.picture;
  viewport.show([0, 0, width, height]);
  if (viewport.at.scale < READABLE) {
    const [wide, high] = [host.clientWidth / READABLE, host.clientHeight / READABLE];
    const kernels = groups.filter((box, g) => box && drawing.groups[g] !== null);
    viewport.show([beginning(kernels.length ? kernels : groups.filter(Boolean), wide, high), 0, wide, high]);
  }
  const box = groups[selectedGroup(drawing) ?? -1];
  if (box) viewport.reveal(box);
}

/** Where a view of the uppermost boxes begins that has a first box in it and as much of others as there can be. */
function beginning(boxes, wide, high) {
  const top = Math.min(...boxes.map(([, y, , h]) => y + h));
  const upper = boxes.filter(([, y]) => y < high);
  const shown = ([x, y, w, h], left) => Math.max(0, Math.min(x + w, left + wide) - Math.max(x, left)) * Math.min(h, high - y);
  const isFirst = ([x, y, w, h], left) => y + h <= top + 1 && x >= left && (x + w <= left + wide || x === left);
  const starts = upper.flatMap(([x, , w]) => [x, x + w - wide]).filter((left) => boxes.some((box) => isFirst(box, left)));
  const filled = (left) => upper.reduce((sum, box) => sum + shown(box, left), 0);
  const best = starts.reduce((best, left) => (filled(left) > filled(best) + 1 ? left : best));
  const inside = upper.filter((box) => shown(box, best) > 0);
  const [left, right] = [Math.min(...inside.map(([x]) => x)), Math.max(...inside.map(([x, , w]) => x + w))];
  return right - left < wide ? (left + right - wide) / 2 : best;
}
