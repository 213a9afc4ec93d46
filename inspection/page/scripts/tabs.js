// Tabs, splitters and dialogs by the patterns of the ARIA Authoring Practices. In: labels and contents. Out: elements.

/**
 * Tabs of which arrows, Home and End choose one; contents are made when first shown.
 * @param {{label: string, tabs: {name: string, title: string, hint?: string}[], chosen: string, choose: (name: string) => void,
 *          panel: HTMLElement, kind?: string}} given
 */
function tabList({ label, tabs, chosen, choose, panel, kind = '' }) {
  const list = el('div', { role: 'tablist', 'aria-label': label, class: `tabs ${kind}` });
  panel.id ||= freshId('panel');
  panel.setAttribute('role', 'tabpanel');
  const buttons = tabs.map(({ name, title, hint }) =>
    button(
      {
        role: 'tab',
        id: freshId('tab'),
        'data-name': name,
        'aria-controls': panel.id,
        title: hint,
        onclick: () => choose(name),
      },
      title,
    ),
  );
  const show = (name) =>
    buttons.forEach((each) => {
      const is = each.dataset.name === name;
      each.setAttribute('aria-selected', String(is));
      each.tabIndex = is ? 0 : -1;
      if (is) panel.setAttribute('aria-labelledby', each.id);
    });
  moveWithArrows(
    list,
    () => buttons,
    (to) => {
      to.focus();
      to.click();
    },
  );
  show(chosen);
  append(list, buttons);
  return { list, show };
}

const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/** Arrow keys, Home and End move among items; `to` is called with the one to go to. */
function moveWithArrows(host, items, to) {
  host.addEventListener('keydown', (event) => {
    const all = items();
    const now = all.indexOf(event.target.closest('[tabindex], button'));
    const next = { Home: 0, End: all.length - 1 }[event.key] ?? (event.key in STEPS ? now + STEPS[event.key] : null);
    if (now < 0 || next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    to(all[(next + all.length) % all.length]);
  });
}

/** One item of many is in the tab order; arrows move to others and call `at` with their position. */
function roving(host, items, at) {
  items.forEach((item, i) => {
    item.setAttribute('tabindex', i ? '-1' : '0');
    item.addEventListener('focus', () => {
      items.forEach((other) => other.setAttribute('tabindex', other === item ? '0' : '-1'));
      at(i);
    });
  });
  moveWithArrows(
    host,
    () => items,
    (to) => to.focus(),
  );
}

/** A bar between two parts that drags or arrow keys move; `set` gets the share of the right part in per cent. */
function splitter(label, initial, set) {
  let share = initial;
  const bar = el('div', {
    role: 'separator',
    tabindex: '0',
    class: 'splitter',
    'aria-label': label,
    'aria-orientation': 'vertical',
    'aria-valuemin': '20',
    'aria-valuemax': '75',
  });
  const move = (to) => {
    share = Math.min(75, Math.max(20, to));
    bar.setAttribute('aria-valuenow', String(Math.round(share)));
    set(share);
  };
  bar.addEventListener('pointerdown', (event) => {
    bar.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  bar.addEventListener('pointermove', (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const whole = bar.closest('.work').getBoundingClientRect();
    move((100 * (whole.right - event.clientX)) / whole.width);
  });
  bar.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: 4, ArrowRight: -4 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(share + step);
  });
  window.addEventListener('widen', () => move(share > initial + 5 ? initial : 62));
  move(initial);
  return bar;
}

/** A list of [term, value, whether it is wide]; those without a value are left out. */
function facts(rows, attributes = {}) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const row = ([term, value, wide]) => el('div', { class: wide ? 'wide' : null }, el('dt', {}, term), el('dd', {}, value));
  return el('dl', { class: 'facts', ...attributes }, shown.map(row));
}

/** Shows the first of a long list, and a button for the rest. */
function shortList(list, items, most, make) {
  append(list, items.slice(0, most).map(make));
  if (items.length > most) {
    const more = el(
      'li',
      { class: 'more' },
      button(
        {
          class: 'plain',
          onclick: () => {
            more.remove();
            append(list, items.slice(most).map(make));
            list.children[most].tabIndex = -1;
            list.children[most].focus();
          },
        },
        `Show all ${items.length.toLocaleString('en')}`,
      ),
    );
    list.append(more);
  }
  return list;
}
