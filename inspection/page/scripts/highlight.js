// Colours for code. In: a line of text and its language. Out: pieces of it, each with its kind.

/** A pattern of any of these words; each may be a pattern itself. */
function words(list) {
  return new RegExp(`\\b(?:${list.trim().split(/\s+/).join('|')})\\b`);
}

/** Each language is a list of [kind, pattern], tried in order at each place. */
const LANGUAGES = {
  loops: [
    ['comment', /#.*/],
    ['keyword', words('kernel phase for alloc load store if else while check barrier return input const')],
    ['kind', words('grid lanes unroll serial reg scratch global')],
    ['type', /\b(?:float|bfloat|int|uint)\d+\b|\bbool\b/],
    ['name', /%\d+/],
    ['number', /-?\b(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)\b/],
    ['word', /[A-Za-z_][\w.]*/],
  ],
  llvm: [
    ['comment', /;.*/],
    ['string', /c?"[^"]*"/],
    ['label', /^[\w.$-]+:/],
    ['global', /@[\w.$-]+/],
    ['name', /%[\w.$-]+/],
    ['meta', /[!#][\w.]+/],
    ['type', /\b(?:i\d+|half|bfloat|float|double|ptr|void|label|x)\b/],
    [
      'keyword',
      words(`
        define declare attributes target source_filename ret br switch phi select call tail load store alloca
        getelementptr inbounds icmp fcmp f?add f?sub f?mul f?div [su]div [su]rem frem fneg shl [la]shr and or xor
        [sz]ext trunc fptrunc fpext fpto[su]i [su]itofp bitcast ptrtoint inttoptr insertelement extractelement
        shufflevector extractvalue insertvalue atomicrmw cmpxchg fence unreachable freeze align to nuw nsw exact splat
        poison undef zeroinitializer true false null
      `),
    ],
    ['number', /-?\b(?:0x[KMLHR]?[0-9A-Fa-f]+|\d+(?:\.\d+(?:e[+-]?\d+)?)?)\b/],
    ['word', /[A-Za-z_][\w.]*/],
  ],
  assembly: [
    ['comment', /(?:#|\/\/|;).*/],
    ['string', /"[^"]*"/],
    ['label', /^[\w.$]+:/],
    ['meta', /^\s*\.[\w.]+/],
    ['keyword', /^\s+[a-z][\w.]*/],
    ['name', /%[\w]+|\b(?:[xwvqds]\d{1,2}|[rR]\d+|sp|xzr|wzr)\b/],
    ['number', /[$#]?-?\b(?:0x[0-9a-fA-F]+|\d+)\b/],
    ['global', /\.L\w+/],
    ['word', /[A-Za-z_][\w.]*/],
  ],
  c: [
    ['comment', /\/\/.*|\/\*.*?\*\//],
    ['string', /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)'/],
    ['meta', /^\s*#\s*\w+|\b__\w+__\b/],
    [
      'keyword',
      words(`
        if else for while do return break continue switch case struct template typename extern static const constexpr
        inline restrict volatile sizeof reinterpret_cast true false
      `),
    ],
    ['type', /\b(?:void|bool|char|short|int|long|unsigned|float|double|half|__half2?|u?int\d+_t|float[234]|int[234]|size_t)\b/],
    ['kind', /\b(?:threadIdx|blockIdx|blockDim|gridDim)\b/],
    ['number', /\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)[fuULl]*\b/],
    ['word', /[A-Za-z_]\w*/],
  ],
  ptx: [
    ['comment', /\/\/.*/],
    ['label', /^\$?[\w$]+:/],
    [
      'meta',
      /\.(?:version|target|address_size|visible|entry|param|reg|shared|global|local|const|func|align|maxntid|minnctapersm)\b/,
    ],
    ['name', /%[\w.]+/],
    ['type', /\.(?:[busf]\d+(?:x\d)?|pred|bf16x?2?|tf32)\b/],
    ['keyword', /^\s*(?:@!?%\w+\s+)?[a-z][\w]*/],
    ['number', /\b(?:0[fFdDxX][0-9a-fA-F]+|\d+)\b/],
    ['word', /[A-Za-z_$][\w$]*/],
  ],
  sass: [
    ['comment', /\/\*.*?\*\/|\/\/.*/],
    ['label', /^\s*\.[\w.]+:?/],
    ['name', /\b(?:U?R\d+|RZ|URZ|U?P\d|PT|SR_\w+)\b/],
    ['number', /\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)\b/],
    ['keyword', /\b[A-Z][A-Z0-9]+(?:\.\w+)*\b/],
    ['word', /[A-Za-z_]\w*/],
  ],
  python: [
    ['comment', /#.*/],
    ['string', /[rbf]*(?:"""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/],
    ['meta', /@[\w.]+/],
    [
      'keyword',
      words(`
        def class return for in if elif else while with as import from lambda not and or is None True False yield
        raise try except finally pass break continue del assert async await match case
      `),
    ],
    ['number', /\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b/],
    ['word', /[A-Za-z_]\w*/],
  ],
};

/** Which language a file ending of a kernel's texts is in, and its name for readers. */
const TEXTS = {
  loops: { title: 'Loops', language: 'loops' },
  ll: { title: 'LLVM IR', language: 'llvm' },
  'opt.ll': { title: 'Optimised IR', language: 'llvm' },
  s: { title: 'Assembly', language: 'assembly' },
  cu: { title: 'CUDA C', language: 'c' },
  ptx: { title: 'PTX', language: 'ptx' },
  sass: { title: 'SASS', language: 'sass' },
};

/** One pattern a language: its kinds in groups, tried from left to right. */
const PATTERNS = Object.fromEntries(
  Object.entries(LANGUAGES).map(([name, kinds]) => [
    name,
    { kinds: kinds.map(([kind]) => kind), pattern: new RegExp(kinds.map(([, p]) => `(${p.source})`).join('|'), 'gm') },
  ]),
);

const MOST_COLOURED = 2000; // characters of a line; longer ones stay plain

/** The pieces of a line as [kind or null, text]. */
function pieces(line, language) {
  const found = PATTERNS[language];
  if (!found || line.length > MOST_COLOURED) return [[null, line]];
  const out = [];
  let end = 0;
  for (const match of line.matchAll(found.pattern)) {
    const kind = found.kinds[match.slice(1).findIndex((text) => text !== undefined)];
    if (match.index > end) out.push([null, line.slice(end, match.index)]);
    out.push([kind === 'word' ? null : kind, match[0]]);
    end = match.index + match[0].length;
  }
  if (end < line.length) out.push([null, line.slice(end)]);
  return out;
}
