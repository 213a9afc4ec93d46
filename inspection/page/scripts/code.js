// Code with numbered lines. In: text and its language. Out: an element; what is far away is coloured when it comes near.

const BLOCK = 100; // lines that are coloured together

/**
 * @param {string} text
 * @param {string} language of LANGUAGES
 * @param {{label: string, decorate?: (line: HTMLElement, number: number) => void}} options
 */
function codeView(text, language, { label, decorate }) {
  const lines = text.replace(/\n$/, '').split('\n');
  const wide = String(lines.length).length;
  const view = el('div', {
    class: 'code',
    tabindex: '0',
    role: 'region',
    'aria-label': label,
    style: { '--digits': `${wide}ch` },
  });
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        watcher.unobserve(entry.target);
        colour(entry.target, language);
      }
    },
    { root: view, rootMargin: '600px' },
  );
  for (let start = 0; start < lines.length; start += BLOCK) {
    const block = el(
      'div',
      { class: 'block' },
      lines.slice(start, start + BLOCK).map((line, i) => {
        const row = el('div', { class: 'line', 'data-number': start + i + 1 }, el('span', { class: 'text' }, line || '\u200b'));
        decorate?.(row, start + i + 1);
        return row;
      }),
    );
    view.append(block);
    watcher.observe(block);
  }
  return view;
}

/** Scrolls so that a line stands in the upper third. */
function scrollTo(view, row) {
  const down = row.getBoundingClientRect().top - view.getBoundingClientRect().top;
  view.scrollTop += down - view.clientHeight / 4;
}

function colour(block, language) {
  for (const text of block.querySelectorAll('.text')) {
    fill(
      text,
      pieces(text.textContent, language).map(([kind, piece]) => (kind ? el('span', { class: `t-${kind}` }, piece) : piece)),
    );
  }
}

/** A button that copies a text. */
function copyButton(text) {
  const copy = button(
    {
      class: 'tool',
      title: 'Copy',
      'aria-label': 'Copy the text',
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          announce('Copied');
          copy.classList.add('done');
          setTimeout(() => copy.classList.remove('done'), 1200);
        } catch {
          announce('The browser does not allow copying here');
        }
      },
    },
    icon(ICONS.copy),
  );
  return copy;
}

const INNER = /[#;/] (inner loop \d+)/; // what texts say where an inner loop begins
const MOST_LOOPS = 6;

/** Buttons that scroll to the inner loops of a text. */
function loopButtons(view) {
  const rows = [...view.querySelectorAll('.line')].filter((row) => INNER.test(row.textContent));
  const go = (row) => {
    scrollTo(view, row);
    for (const other of rows) other.classList.toggle('mine', other === row);
  };
  const chips = rows
    .slice(0, MOST_LOOPS)
    .map((row) => button({ class: 'chip', onclick: () => go(row) }, INNER.exec(row.textContent)[1]));
  return el('span', { class: 'loops' }, chips);
}

/** Code with what it is and how long above it. */
function codeBox(text, language, label) {
  const lines = text.replace(/\n$/, '').split('\n').length;
  const view = codeView(text, language, { label });
  return el(
    'div',
    { class: 'codebox' },
    el('div', { class: 'codehead' }, el('span', { class: 'muted' }, count(lines, 'line')), loopButtons(view), copyButton(text)),
    view,
  );
}
