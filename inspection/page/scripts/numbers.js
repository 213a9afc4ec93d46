// Numbers for readers. In: bytes, operations, seconds. Out: short texts.

const PREFIXES = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** Three digits and a prefix: amount(12288, 'B') is '12.3 kB'. */
function amount(value, unit) {
  if (typeof value !== 'number') return value === null || value === undefined ? '–' : String(value);
  const [scale, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least * 0.9995) ?? [1, ''];
  return `${digits(value / scale)} ${prefix}${unit}`.trim();
}

/** Seconds as ns, µs, ms or s. */
function seconds(value) {
  if (typeof value !== 'number') return '–';
  if (value === 0) return '0 s';
  const [scale, unit] = [
    [1, 's'],
    [1e-3, 'ms'],
    [1e-6, 'µs'],
  ].find(([least]) => value >= least * 0.9995) ?? [1e-9, 'ns'];
  return `${digits(value / scale)} ${unit}`;
}

/** Three significant digits, never an exponent. */
function digits(value) {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1000) return String(value);
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)));
  return value
    .toFixed(Math.min(places, 4))
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}

function percent(part, whole) {
  return whole ? `${digits(Math.round((1000 * part) / whole) / 10)} %` : '–';
}

function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** float32[16, 64] */
function typed(value) {
  return `${value.dtype}[${value.shape.join(', ')}]`;
}

/** train.py:5, or of a notebook: cell [6], line 5 */
function place(at) {
  return placeParts(at).join('');
}

function placeParts([file, line]) {
  const { name, before_line: before } = DOC.sources[file] ?? {};
  return [name ?? file.split('/').pop(), `${before ?? ':'}${line}`];
}

/** The line that a kernel comes from, as [whether it is the gradient of it, file, line, how many lines more]. */
function firstLine(k) {
  const [file, line] = placeParts(k.lines[0]);
  return [k.sources?.[0]?.gradient ? '∂ ' : '', file, line, k.lines.length > 1 ? ` +${k.lines.length - 1}` : ''];
}

const MOST_PLACE = 12; // characters of a file's name in a picture

/** The same as a short text. */
function firstPlace(k) {
  const [gradient, file, line, more] = firstLine(k);
  return `${gradient}${shortened(file, MOST_PLACE)}${line}${more}`;
}

/** The same as an element, in which the name of the file is cut off where there is no room for it. */
function placeOf(k) {
  if (!k.lines.length) return null;
  const [gradient, file, line, more] = firstLine(k);
  return el('span', { class: 'place muted', title: k.lines.map(place).join('\n') }, [
    gradient,
    el('span', { class: 'filename' }, file),
    line + more,
  ]);
}

/** The time of a kernel: measured where it is, else predicted. */
function timeOf(k) {
  return typeof k.measured === 'number' ? k.measured : k.predicted;
}

/** The sum over kernels of what is known. */
function total(kernels, of) {
  return kernels.reduce((sum, k) => sum + (of(k) ?? 0), 0);
}

/** The beginning of a text that is too long. */
function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, Math.floor(most) - 1))}…`;
}
