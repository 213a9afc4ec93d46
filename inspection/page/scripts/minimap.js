// A small picture of the whole graph. In: a drawing and its viewport. Out: a canvas that shows and moves the view.

const MINIMAP = { width: 104, least: 172, most: 480 };

/**
 * @param {number} room pixels below one another that it may take, if they are not very few or many
 * @param {(group: number) => string} kindOf the class of a group's colour
 */
function minimapOf(drawing, viewport, room, kindOf) {
  const canvas = el('canvas', { class: 'minimap', 'aria-hidden': 'true' });
  const { width, height } = drawing.picture;
  const most = Math.min(MINIMAP.most, Math.max(MINIMAP.least, room - 20));
  const scale = Math.min(MINIMAP.width / Math.max(width, 1), most / Math.max(height, 1));
  const probe = el('i', { 'aria-hidden': 'true', class: 'probe' });
  const box = el('div', {}, canvas, probe);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(24, width * scale) * ratio;
  canvas.height = Math.max(24, height * scale) * ratio;
  setAttributes(canvas, { style: { width: `${canvas.width / ratio}px`, height: `${canvas.height / ratio}px` } });

  const draw = atNextFrame(() => {
    const paint = canvas.getContext('2d');
    const view = viewport.inView();
    const colours = new Map();
    const colourOf = (name) => {
      if (!colours.has(name)) {
        probe.className = `probe ${name}`;
        colours.set(name, getComputedStyle(probe).color);
      }
      return colours.get(name);
    };
    paint.setTransform(ratio * scale, 0, 0, ratio * scale, 0, 0);
    paint.clearRect(0, 0, width + 1e4, height + 1e4);
    drawing.picture.groups.forEach((at, g) => {
      if (!at) return;
      const [x, y, w, h] = at;
      paint.fillStyle = colourOf(kindOf(g));
      paint.fillRect(x, y, Math.max(w, 1.5 / scale), Math.max(h, 1.5 / scale));
    });
    paint.strokeStyle = colourOf('accent');
    paint.lineWidth = 1.5 / scale;
    paint.strokeRect(...view);
  });

  const move = (event) => {
    const at = canvas.getBoundingClientRect();
    const [x, y, w, h] = viewport.inView();
    const to = [(event.clientX - at.left) / scale, (event.clientY - at.top) / scale];
    viewport.pan((x + w / 2 - to[0]) * viewport.at.scale, (y + h / 2 - to[1]) * viewport.at.scale);
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  canvas.addEventListener('pointermove', (event) => canvas.hasPointerCapture(event.pointerId) && move(event));
  return { box, draw };
}
