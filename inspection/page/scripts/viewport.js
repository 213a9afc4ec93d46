// Moving over a large picture. In: wheel, pointers, keys. Out: a transform of the picture's <g>, and calls when it changes.

const CLOSEST = 3;
const FARTHEST = 0.004;
const START = 24; // pixels that stay free around what is revealed
const DRAG = 4; // pixels that a pointer may move and still click

/**
 * @param {HTMLElement} host that receives events
 * @param {SVGGElement} world that is moved
 * @param {{changed: () => void, clicked: (target: Element, twice: boolean) => void}} tell
 */
function viewportOf(host, world, { changed, clicked }) {
  const at = { x: 0, y: 0, scale: 1, width: 1, height: 1 };
  const pointers = new Map();
  let pressed = null;
  let calm = true; // nothing was dragged since the pointer went down

  const apply = atNextFrame(() => {
    world.setAttribute('transform', `translate(${at.x} ${at.y}) scale(${at.scale})`);
    changed();
  });

  /** Zooms so that the point (x, y) of the host stays where it is. */
  function zoom(factor, x = host.clientWidth / 2, y = host.clientHeight / 2) {
    const scale = Math.min(CLOSEST, Math.max(FARTHEST, at.scale * factor));
    at.x = x - ((x - at.x) * scale) / at.scale;
    at.y = y - ((y - at.y) * scale) / at.scale;
    at.scale = scale;
    apply();
  }

  function pan(dx, dy) {
    at.x += dx;
    at.y += dy;
    apply();
  }

  /** Shows a rectangle of the picture as large as fits, but not larger than `most`. */
  function show([x, y, width, height], most = 1, margin = 24) {
    const wide = host.clientWidth - 2 * margin;
    const high = host.clientHeight - 2 * margin;
    at.scale = Math.min(most, Math.max(FARTHEST, Math.min(wide / Math.max(width, 1), high / Math.max(height, 1))));
    at.x = (host.clientWidth - width * at.scale) / 2 - x * at.scale;
    at.y = (host.clientHeight - height * at.scale) / 2 - y * at.scale;
    apply();
  }

  /** Moves no more than needed to have a rectangle in view. */
  function reveal([x, y, width, height]) {
    const shift = (low, size, offset, room) => {
      const from = low * at.scale + offset;
      const to = from + size * at.scale;
      if (to - from > room - 2 * START) return START - from;
      return from < START ? START - from : Math.min(0, room - START - to);
    };
    pan(shift(x, width, at.x, host.clientWidth), shift(y, height, at.y, host.clientHeight));
  }

  host.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      const box = host.getBoundingClientRect();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey)
        zoom(Math.exp(-event.deltaY * unit * 0.004), event.clientX - box.left, event.clientY - box.top);
      else if (event.shiftKey && !event.deltaX) pan(-event.deltaY * unit, 0);
      else pan(-event.deltaX * unit, -event.deltaY * unit);
    },
    { passive: false },
  );

  host.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    if (!pointers.size) [pressed, calm] = [event, true];
    pointers.set(event.pointerId, event);
    host.setPointerCapture(event.pointerId);
  });

  host.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    if (calm && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < DRAG) return;
    calm = false;
    host.classList.add('dragging');
    const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
    pointers.set(event.pointerId, event);
    if (!other) return pan(event.clientX - before.clientX, event.clientY - before.clientY);
    const box = host.getBoundingClientRect();
    const apart = (each) => Math.hypot(each.clientX - other.clientX, each.clientY - other.clientY);
    pan((event.clientX - before.clientX) / 2, (event.clientY - before.clientY) / 2);
    zoom(
      apart(event) / Math.max(apart(before), 1),
      (event.clientX + other.clientX) / 2 - box.left,
      (event.clientY + other.clientY) / 2 - box.top,
    );
  });

  const release = (event) => {
    if (!pointers.delete(event.pointerId) || pointers.size) return;
    host.classList.remove('dragging');
    if (calm && event.type === 'pointerup') clicked(pressed.target, false);
  };
  host.addEventListener('pointerup', release);
  host.addEventListener('pointercancel', release);
  host.addEventListener('dblclick', (event) => clicked(document.elementFromPoint(event.clientX, event.clientY), true));

  /** The part of the picture that is in view. */
  const inView = () => [-at.x / at.scale, -at.y / at.scale, host.clientWidth / at.scale, host.clientHeight / at.scale];

  return { at, zoom, pan, show, reveal, inView, apply };
}

function overlap([x, y, width, height], [p, q, wide, high]) {
  return x < p + wide && p < x + width && y < q + high && q < y + height;
}
