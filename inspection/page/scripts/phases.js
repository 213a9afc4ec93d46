// Forward, gradient, update. In: the nodes of a program. Out: the phase of each, and the phases of a kernel.

const PHASES = ['forward', 'gradient', 'update'];
const PHASE_NAMES = { forward: 'fwd', gradient: 'grad', update: 'update' };
const COUNTS = 0.1; // of the elements that a kernel computes, from which a phase is one of the kernel's

/** The phase of each node: forward, gradient, or update for what is computed of gradients and no gradient is computed of. */
function phasesOf(p, position, consumers) {
  const phases = [];
  for (const n of p.nodes) {
    const after = n.src.some((id) => ['gradient', 'update'].includes(phases[position.get(id)]));
    phases.push(n.gradient ? 'gradient' : after ? 'update' : 'forward');
  }
  for (let i = phases.length - 1; i >= 0; i -= 1) {
    if (phases[i] === 'update' && consumers[i].some((j) => phases[j] === 'gradient')) phases[i] = 'gradient';
  }
  return phases;
}

/** The phases to which a good part of what a kernel computes belongs, in order; single numbers count where all are such. */
function kernelPhases(p, k, phases, position) {
  const elements = new Map();
  for (const i of k.node_ids.map((id) => position.get(id))) {
    const size = p.nodes[i]?.src.length ? p.nodes[i].shape.reduce((a, b) => a * b, 1) : 0;
    if (!size) continue;
    elements.set(phases[i], Math.max(elements.get(phases[i]) ?? 0, size));
  }
  const most = Math.max(...elements.values());
  const least = Math.max(COUNTS * most, Math.min(most, 2));
  const found = PHASES.filter((phase) => elements.get(phase) >= least);
  return found.length ? found : [k.gradient ? 'gradient' : 'forward'];
}

/** What a kernel's picture says: nothing for forward alone. */
function phaseText(phases) {
  return phases.length === 1 && phases[0] === 'forward' ? '' : phases.map((phase) => PHASE_NAMES[phase]).join(' + ');
}

/** A stripe at the left of a box, a piece for each phase. */
function phaseStripe(phases, height) {
  const piece = (height - 12) / Math.max(phases.length, 1);
  return phases.map((phase, i) =>
    svg('rect', { class: `stripe phase-${phase}`, width: 4, height: piece, x: 0, y: 6 + i * piece, rx: 2 }),
  );
}
