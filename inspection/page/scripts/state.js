// What the page shows. In: the document and what the reader selects. Out: one state, and calls of whoever follows it.

/** The document, as inspection/document.py made it, each program with its layout. */
const DOC = JSON.parse(document.getElementById('document').textContent);

/**
 * program: index; view: name of a tab; kernel: index or null; node: position in program.nodes or null;
 * line: [file, line] or null; text: what the panel shows of a kernel.
 */
const state = { program: 0, view: 'graph', kernel: null, node: null, line: null, text: 'overview' };
const followers = [];

/** Calls run(changed) after each change, where `changed` names the fields. */
function follow(run) {
  followers.push(run);
}

/** Changes the state and tells its followers; what already is so changes nothing. */
function select(change) {
  const changed = Object.keys(change).filter((key) => state[key] !== change[key]);
  if (!changed.length) return;
  Object.assign(state, change);
  const names = new Set(changed);
  keepingFocus(() => followers.forEach((run) => run(names)));
  remember();
}

/** The program that is shown; null where the document has none. */
function program() {
  return DOC.programs[state.program] ?? null;
}

/** The kernel that is selected, or null. */
function kernel() {
  return state.kernel === null ? null : (program()?.kernels[state.kernel] ?? null);
}

function selectProgram(index) {
  select({ program: index, kernel: null, node: null, line: null, text: 'overview' });
}

function selectKernel(index) {
  if (index === null) select({ kernel: null, node: null, line: null });
  else select({ kernel: index, node: null, line: null });
  if (index !== null) announce(`Kernel ${program().kernels[index].name}`);
}

/** Selects a node by its position, and the kernel that computes it or in whose box it stands. */
function selectNode(position) {
  const node = program().nodes[position];
  const { groups, home } = program().layout;
  select({ node: position, kernel: node.kernel ?? groups[home[position]], line: null });
  announce(`Operation ${node.label}`);
}

/** Selects a line of the user's: kernels that come from it are marked. */
function selectLine(line) {
  const same = state.line && line && state.line[0] === line[0] && state.line[1] === line[1];
  select({ line: same ? null : line });
}

/** The kernels that come from a line, as a list of indices. */
function kernelsOf(line) {
  const from = (k) => k.lines.some(([file, number]) => file === line[0] && number === line[1]);
  return program()
    .kernels.filter(from)
    .map((k) => k.index);
}

/** What is derived from a program, made once: derive(p).consumers and so on. */
const derived = new WeakMap();

function derive(p) {
  if (!derived.has(p)) derived.set(p, derivedOf(p));
  return derived.get(p);
}

function derivedOf(p) {
  const position = new Map(p.nodes.map((n, i) => [n.id, i]));
  const consumers = p.nodes.map(() => []);
  p.nodes.forEach((n, i) => n.src.forEach((id) => position.has(id) && consumers[position.get(id)].push(i)));
  const phases = phasesOf(p, position, consumers);
  return {
    position,
    consumers,
    phases,
    kernelPhases: p.kernels.map((k) => kernelPhases(p, k, phases, position)),
    names: new Map(p.kernels.map((k) => [k.name, k.index])),
    outputs: new Set(p.outputs),
    measured: p.kernels.some((k) => typeof k.measured === 'number'),
    time: total(p.kernels, timeOf),
  };
}

const KEPT = ['program', 'view', 'kernel', 'text'];

/** Keeps the selection in the page's address, so that a link leads back to it. */
function remember() {
  const parts = KEPT.filter((key) => state[key] !== null).map((key) => `${key}=${encodeURIComponent(state[key])}`);
  try {
    history.replaceState(null, '', `#${parts.join('&')}`);
  } catch {
    // A page in a frame without an address of its own keeps nothing.
  }
}

/** The selection that the address names, as far as the document has it. */
function recall() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const index = (key, list) =>
    /^\d+$/.test(asked.get(key) ?? '') && list?.[Number(asked.get(key))] ? Number(asked.get(key)) : null;
  state.program = index('program', DOC.programs) ?? 0;
  state.kernel = index('kernel', program()?.kernels);
  state.view = asked.get('view') ?? state.view;
  state.text = asked.get('text') ?? state.text;
}

/** What the reader chose on this machine, such as the theme; where nothing may be kept, it is forgotten. */
const kept = {
  get(key) {
    try {
      return localStorage.getItem(`weft-${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`weft-${key}`, value);
    } catch {
      // Private windows and frames keep nothing.
    }
  },
};
