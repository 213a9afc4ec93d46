// The graph as SVG. In: a program and one of its pictures. Out: groups, nodes and edges, made when in view.

const ROOM = 23; // characters of a card's second line, beside the time
const LEGIBLE = 0.3; // below this scale nodes are not drawn, and kernels carry large names

/**
 * @param {object} p the program
 * @param {'operations' | 'kernels'} level
 */
function drawingOf(p, level) {
  const { groups, home } = p.layout;
  const picture = p.layout[level];
  const members = groups.map(() => []);
  home.forEach((g, i) => members[g].push(i));
  const slowest = Math.max(...p.kernels.map((k) => timeOf(k) ?? 0), 1e-12);
  const boxes = groups.map((_, g) => groupElement(g));
  const insides = new Map(); // group -> element with its nodes
  const nodes = new Map(); // node -> element
  const layers = {
    frames: svg('g', { class: 'frames' }),
    lines: svg('g', { class: 'lines' }),
    nodes: svg('g', { class: 'nodes' }),
    marked: svg('g', { class: 'marked' }),
  };
  // Lines may cross a frame to reach its nodes, but not a card.
  const below = level === 'kernels' ? [layers.lines, layers.marked, layers.frames] : [layers.frames, layers.lines, layers.marked];
  const world = svg('g', { class: 'world' }, below, layers.nodes);
  append(layers.frames, boxes);
  append(layers.lines, [svg('path', { class: 'edge', d: picture.outer.map(curve).join('') })]);

  function groupElement(g) {
    const k = groups[g] === null ? null : p.kernels[groups[g]];
    if (!picture.groups[g]) return svg('g', {});
    if (level === 'kernels' && k) return kernelCard(p, k, g, picture.groups[g], slowest);
    if (k || members[g].length > 1) return kernelFrame(p, k, g, picture.groups[g]);
    return svg('g', {});
  }

  /** Where the box of a node is; in the picture of kernels, that of its group. */
  function nodeBox(i) {
    return level === 'operations' ? picture.nodes[i] : picture.groups[home[i]];
  }

  /** A path from below one box to above another, through the bends; it leaves and enters groups straight. */
  function curve([from, to, ...bends]) {
    const boxOf = level === 'operations' ? (i) => picture.nodes[i] : (g) => picture.groups[g];
    const [x, y, w, h] = boxOf(from);
    const [r, q, v] = boxOf(to);
    const points = [x + w / 2, y + h, ...bends, r + v / 2, q];
    if (level === 'operations' && home[from] !== home[to]) {
      const [, top, , height] = picture.groups[home[from]];
      points.splice(2, 0, x + w / 2, top + height);
      points.splice(-2, 0, r + v / 2, picture.groups[home[to]][1]);
    }
    let path = `M${points[0]} ${points[1]}`;
    for (let i = 2; i < points.length; i += 2) {
      const middle = (points[i - 1] + points[i + 1]) / 2;
      path += `C${points[i - 2]} ${middle} ${points[i]} ${middle} ${points[i]} ${points[i + 1]}`;
    }
    return path;
  }

  /** The nodes of a group, and the edges between them. */
  function inside(g) {
    if (insides.has(g)) return insides.get(g);
    const shown = level === 'operations' ? members[g] : [];
    const lines =
      level === 'operations'
        ? picture.inner
            .filter(([a]) => home[a] === g)
            .map(curve)
            .join('')
        : '';
    const drawn = shown.map((i) => {
      nodes.set(i, nodeElement(p, i, nodeBox(i)));
      return nodes.get(i);
    });
    const made = svg('g', {}, svg('path', { class: 'edge', d: lines }), drawn);
    layers.nodes.append(made);
    insides.set(g, made);
    return made;
  }

  /** Draws what is in view, and hides what is not. Returns whether something new was drawn. */
  function update(view, scale) {
    const far = scale < LEGIBLE;
    const before = nodes.size;
    world.classList.toggle('far', far);
    picture.groups.forEach((box, g) => {
      const seen = box && overlap(box, view);
      boxes[g].classList.toggle('away', !seen);
      const small = groups[g] !== null || members[g].length > 1;
      if (seen && !(far && small)) inside(g).classList.remove('away');
      else insides.get(g)?.classList.add('away');
    });
    return nodes.size > before;
  }

  /** Draws the edges of a group or of a node over the others. */
  function mark(group, node) {
    const touches =
      node !== null && level === 'operations'
        ? (i) => i === node
        : level === 'operations'
          ? (i) => home[i] === group
          : (g) => g === group;
    const all = level === 'operations' && node !== null ? picture.inner.concat(picture.outer, picture.loose) : picture.outer;
    const out = all
      .filter(([a]) => touches(a))
      .map(curve)
      .join('');
    const into = all
      .filter(([, b]) => touches(b))
      .map(curve)
      .join('');
    fill(layers.marked, svg('path', { class: 'edge out', d: out }), svg('path', { class: 'edge in', d: into }));
  }

  /** The element of a node, drawn if need be. */
  function nodeOf(i) {
    inside(home[i]);
    return nodes.get(i) ?? boxes[home[i]];
  }

  return { world, boxes, nodes, picture, groups, home, members, level, update, mark, nodeBox, nodeOf };
}

/** A box for a kernel, or for nodes of none: a frame, a stripe for its phases, its name. */
function groupBox(k, g, phases, kind, [x, y, width, height], name) {
  const text = phaseText(phases);
  return svg(
    'g',
    {
      class: `group ${kind} kind-${k?.kind ?? 'none'}`,
      'data-group': g,
      transform: `translate(${x} ${y})`,
      ...spoken(k, `g${g}`),
    },
    svg('rect', { class: 'frame', width, height, rx: 6 }),
    phaseStripe(phases, height),
    svg('text', { class: 'name near', x: 12, y: 17 }, shortened(name, (width - 24 - 7 * text.length) / 7.6)),
    svg('text', { class: `phase near phase-${phases.at(-1)}`, x: width - 8, y: 17 }, text),
  );
}

/** The frame of a kernel, in which its nodes are drawn. */
function kernelFrame(p, k, g, box) {
  const [, , width, height] = box;
  const name = k ? k.name : 'shared';
  const size = Math.min(width / (name.length * 0.62), height * 0.5, 90);
  return append(groupBox(k, g, k ? derive(p).kernelPhases[k.index] : [], 'framed', box, name), [
    svg('text', { class: 'name large', x: width / 2, y: height / 2, style: { 'font-size': `${size}px` } }, name),
  ]);
}

/** The line of a kernel, and what it moves if there is room for it. */
function cardDetail(k) {
  const from = k.lines.length ? firstPlace(k) : count(k.nodes.length, 'op');
  const both = `${from} · ${amount(k.bytes, 'B')}`;
  return both.length <= ROOM ? both : from;
}

/** A kernel as a card: its name, what it moves and how long it takes. */
function kernelCard(p, k, g, box, slowest) {
  const [, , width, height] = box;
  const time = timeOf(k) ?? 0;
  return append(groupBox(k, g, derive(p).kernelPhases[k.index], 'card', box, k.name), [
    svg('text', { class: 'detail', x: 12, y: 32 }, cardDetail(k)),
    svg('text', { class: 'detail end', x: width - 8, y: 32 }, time ? seconds(time) : ''),
    svg('rect', { class: 'time', x: 12, y: height - 8, height: 3, rx: 1.5, width: ((width - 20) * time) / slowest }),
  ]);
}

function nodeElement(p, i, [x, y, width, height]) {
  const n = p.nodes[i];
  const { phases, outputs } = derive(p);
  const leaf = n.src.length ? '' : 'leaf';
  const label = shortened(n.label, (width - 12) / 6.5);
  return svg(
    'g',
    {
      class: ['node', leaf, `phase-${phases[i]}`, n.kernel === null && 'unkernelled', outputs.has(n.id) && 'output']
        .filter(Boolean)
        .join(' '),
      'data-node': i,
      id: `n${i}`,
      role: 'button',
      'aria-label': `${n.label}, ${typed(n)}, ${phases[i]}`,
      transform: `translate(${x} ${y})`,
    },
    svg('rect', { width, height, rx: leaf ? height / 2 : 4 }),
    svg('text', { x: width / 2, y: height / 2 }, label),
    svg('title', {}, `${n.label}\n${typed(n)}${n.line ? `\n${place(n.line)}` : ''}`),
  );
}

function spoken(k, id) {
  return k ? { id, role: 'button', 'aria-label': `Kernel ${k.name}, ${k.kind}, ${count(k.nodes.length, 'operation')}` } : { id };
}
