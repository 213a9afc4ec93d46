// Forward, gradient, update. In: the nodes of a program. Out: the phase of each, and the phases of a kernel.

const PHASES = ['forward', 'gradient', 'update'];
const PHASE_NAMES = { forward: 'fwd', gradient: 'grad', update: 'update' };
const CONSTANTS = ['const', 'iota'];

/**
 * The phase of each node: forward, gradient, or update for what is computed of gradients and no gradient is computed of. What is
 * made of constants alone belongs to no phase before it is used; what only updates use belongs to them.
 */
function phasesOf(p, position, consumers) {
  const phases = [];
  const constant = [];
  p.nodes.forEach((n, i) => {
    const sources = n.src.map((id) => position.get(id));
    constant[i] = CONSTANTS.includes(n.op) || (sources.length > 0 && sources.every((s) => constant[s]));
    const after = sources.some((s) => phases[s] === 'gradient' || phases[s] === 'update');
    phases.push(constant[i] ? 'forward' : n.gradient ? 'gradient' : after ? 'update' : 'forward');
  });
  for (let i = phases.length - 1; i >= 0; i -= 1) {
    const after = consumers[i].map((j) => phases[j]);
    if (phases[i] === 'update' && after.includes('gradient')) phases[i] = 'gradient';
    else if (phases[i] === 'forward' && after.length && after.every((phase) => phase === 'update')) phases[i] = 'update';
  }
  return phases;
}

/** The phases of what a kernel computes, in order; single numbers count where all are such. */
function kernelPhases(p, k, phases, position) {
  const computed = k.node_ids.map((id) => position.get(id)).filter((i) => k.nodes.includes(p.nodes[i]?.op)); // no views
  const large = computed.filter((i) => p.nodes[i].shape.some((extent) => extent > 1));
  const found = new Set((large.length ? large : computed).map((i) => phases[i]));
  return found.size ? PHASES.filter((phase) => found.has(phase)) : [k.gradient ? 'gradient' : 'forward'];
}

/** What a kernel's picture says: nothing for forward alone. */
function phaseText(phases) {
  return phases.length === 1 && phases[0] === 'forward' ? '' : phases.map((phase) => PHASE_NAMES[phase]).join(' + ');
}

/** What the colour of a kind is called. */
function kindKey(kind) {
  return el('span', { class: `key kind-${kind}` }, el('i', { class: 'patch' }), kind);
}

/** A stripe at the left of a box, a piece for each phase. */
function phaseStripe(phases, height) {
  const piece = (height - 12) / Math.max(phases.length, 1);
  return phases.map((phase, i) =>
    svg('rect', { class: `stripe phase-${phase}`, width: 4, height: piece, x: 0, y: 6 + i * piece, rx: 2 }),
  );
}
