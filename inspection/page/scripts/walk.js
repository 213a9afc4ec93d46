// Walking over the graph by keys. In: arrow keys, Enter, Escape. Out: a cursor on a kernel or a node, and what is selected.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ZOOMS = { '+': 1.25, '=': 1.25, '-': 0.8 };

/** The index of the box that is next in a direction: near, and rather straight ahead than aside. */
function nearest(boxes, from, [dx, dy]) {
  const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2];
  const [x, y] = middle(boxes[from]);
  let best = null;
  let least = Infinity;
  boxes.forEach((box, i) => {
    if (i === from || !box) return;
    const [p, q] = middle(box);
    const ahead = (p - x) * dx + (q - y) * dy;
    const aside = Math.abs((p - x) * dy) + Math.abs((q - y) * dx);
    const cost = ahead + 2 * aside;
    if (ahead > 1 && cost < least) [best, least] = [i, cost];
  });
  return best;
}

/**
 * Lets keys move a cursor over a drawing.
 * @param {HTMLElement} host that has the focus
 * @param {() => {drawing: object, viewport: object}} current
 * @param {() => void} open shows the picture of operations
 */
function walkOver(host, current, open) {
  let cursor = { group: null, node: null };

  function put(group, node) {
    const { drawing, viewport } = current();
    cursor = { group, node };
    const target = node === null ? drawing.boxes[group] : drawing.nodeOf(node);
    for (const old of host.querySelectorAll('.cursor')) old.classList.remove('cursor');
    target.classList.add('cursor');
    viewport.reveal(node === null ? drawing.picture.groups[group] : drawing.nodeBox(node));
    if (target.id) host.setAttribute('aria-activedescendant', target.id);
    announce(target.getAttribute('aria-label') ?? '');
  }

  /** A group that nothing but a node fills is stood for by this node. */
  const alone = (drawing, g) => (drawing.groups[g] === null ? drawing.members[g][0] : null);

  function step(direction) {
    const { drawing } = current();
    const first = drawing.picture.groups.findIndex(Boolean);
    if (first < 0) return;
    if (cursor.group === null) return put(first, alone(drawing, first));
    if (cursor.node !== null && drawing.level === 'operations' && drawing.groups[cursor.group] !== null) {
      const next = nearest(drawing.picture.nodes, cursor.node, direction);
      if (next !== null) put(drawing.home[next], next);
      return;
    }
    const next = nearest(drawing.picture.groups, cursor.group, direction);
    if (next !== null) put(next, alone(drawing, next));
  }

  function enter() {
    const { drawing } = current();
    if (cursor.group === null) return step([0, 1]);
    if (cursor.node !== null) return selectNode(cursor.node);
    const { group } = cursor;
    const index = drawing.groups[group];
    if (state.kernel !== index || state.node !== null) return selectKernel(index);
    if (!drawing.members[group].length) return;
    if (drawing.level === 'kernels') open();
    put(group, drawing.members[group][0]);
  }

  /** From a node to its kernel, from a kernel to nothing. */
  function leave() {
    const { drawing } = current();
    if (cursor.node !== null && drawing.groups[cursor.group] !== null) return put(cursor.group, null);
    selectKernel(null);
    select({ line: null });
  }

  host.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== host || !current().drawing) return;
    const arrow = ARROWS[event.key];
    const { viewport } = current();
    if (arrow && event.shiftKey) viewport.pan(-80 * arrow[0], -80 * arrow[1]);
    else if (arrow) step(arrow);
    else if (event.key === 'Enter' || event.key === ' ') enter();
    else if (event.key === 'Escape') leave();
    else if (event.key in ZOOMS) viewport.zoom(ZOOMS[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    put,
    forget: () => {
      cursor = { group: null, node: null };
      host.removeAttribute('aria-activedescendant');
    },
    /** Stands where the selection is, so that keys go on from there. */
    at: (group, node) => {
      cursor = { group, node };
    },
  };
}
