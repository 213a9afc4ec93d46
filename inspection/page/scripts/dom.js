// Elements of the page. In: tag names, attributes, children. Out: DOM nodes. Text only ever becomes text nodes.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Sets attributes: `class`, `on<event>` functions, properties of `style` as an object; null and false leave one out.
 * @param {Element} node
 * @param {Object<string, any>} attributes
 */
function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else node.setAttribute(name, value === true ? '' : value);
  }
}

/**
 * @param {Element} node
 * @param {any[]} children nodes, texts, numbers, nested lists; null and false are left out
 */
function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** An HTML element: el('p', {class: 'note'}, 'text', child). */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  return append(node, children);
}

/** An SVG element, likewise. */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  setAttributes(node, attributes);
  return append(node, children);
}

/** A button that never submits. */
function button(attributes, ...children) {
  return el('button', { type: 'button', ...attributes }, ...children);
}

/** Replaces what an element holds. */
function fill(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

let ids = 0;

/** An id that no other element has. */
function freshId(stem) {
  ids += 1;
  return `${stem}-${ids}`;
}

/** An icon from the path of a 16 x 16 drawing; what it means is said by the label of its button. */
function icon(path) {
  return svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: path }));
}

const ICONS = {
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  left: 'M10 3 5 8l5 5',
  right: 'M6 3l5 5-5 5',
  close: 'M4 4l8 8M12 4l-8 8',
  widen: 'M6 4.5 2.5 8 6 11.5M10 4.5 13.5 8 10 11.5M2.5 8h11',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
};

/** Says something to screen readers, without moving the focus. */
function announce(text) {
  const place = document.getElementById('announcer');
  if (place) place.textContent = text;
}

/** Calls a function at the next frame, however often it is asked to before. */
function atNextFrame(run) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      run();
    });
  };
}
