// Keys that work everywhere. In: key presses outside of fields. Out: actions, and a dialog that lists them.

/** @param {{view: (name: string) => void, fit: () => void, views: {name: string, title: string}[]}} act */
function keyboard(act) {
  const step = (by) => () => {
    const { kernels } = program();
    if (kernels.length) selectKernel(state.kernel === null ? 0 : Math.min(kernels.length - 1, Math.max(0, state.kernel + by)));
  };
  const actions = {
    '?': ['Show these keys', () => dialog.showModal()],
    '/': [
      'Search the graph',
      () => {
        act.view('graph');
        document.getElementById('search').focus();
      },
    ],
    '[': ['Previous kernel', step(-1)],
    ']': ['Next kernel', step(1)],
    f: ['Fit the graph', act.fit],
    Escape: ['Select nothing', () => selectKernel(null)],
  };
  act.views.forEach(({ name, title }, i) => {
    actions[i + 1] = [`${title} view`, () => act.view(name)];
  });
  const inGraph = [
    ['Arrows', 'Move between kernels, or between operations'],
    ['Enter', 'Select; again: go to the operations of the kernel'],
    ['Escape', 'Go back'],
    ['Shift + arrows', 'Move the picture'],
    ['+ −', 'Zoom'],
    ['Ctrl + wheel', 'Zoom at the pointer'],
  ];
  let on = kept.get('keys') !== 'off';
  const check = el('input', {
    type: 'checkbox',
    id: freshId('keys'),
    checked: on,
    onchange: (event) => {
      on = event.target.checked;
      kept.set('keys', on ? 'on' : 'off');
    },
  });
  const list = (title, rows) => [
    el('h3', {}, title),
    el(
      'dl',
      { class: 'keys' },
      rows.map(([key, text]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, text))),
    ),
  ];
  const close = button({ class: 'tool', 'aria-label': 'Close', onclick: () => dialog.close() }, icon(ICONS.close));
  const dialog = el(
    'dialog',
    { class: 'help', 'aria-labelledby': 'keys-title' },
    el('div', { class: 'cardhead' }, el('h2', { id: 'keys-title' }, 'Keys'), close),
    el(
      'div',
      { class: 'columns' },
      el(
        'div',
        {},
        list(
          'Everywhere',
          Object.entries(actions).map(([key, [text]]) => [key, text]),
        ),
      ),
      el('div', {}, list('In the graph', inGraph)),
    ),
    el('p', {}, check, ' ', el('label', { for: check.id }, 'Single keys work everywhere')),
  );
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest?.('input, select, textarea, dialog');
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || (!on && event.key !== 'Escape'))
      return;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action[1]();
  });
  return { dialog, open: () => dialog.showModal() };
}
